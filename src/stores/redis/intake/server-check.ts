import type { Redis } from 'ioredis';
import type { Log } from '../../../log.ts';
import { SettingsError } from '../../../settings.ts';
import { compareConfiguration } from '../server-configuration.ts';
import { createShards, type Shard } from './shards.ts';
import { createStream } from './stream.ts';

/** How a server runs that keeps every submission whose acceptance it has confirmed. */
export const intakeConfiguration: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  'maxmemory-policy': 'noeviction',
};

export interface IntakeCheckOptions {
  shards: number;
  /** The operator accepts that responses which were accepted are lost with the server. */
  mayLose: boolean;
  log: Log;
}

/** Looks at the intake's server before anything is accepted into it. Throws a SettingsError that says what to change. */
export async function checkIntakeServer(redis: Redis, { shards, mayLose, log }: IntakeCheckOptions): Promise<void> {
  await checkDurability(redis, mayLose, log);
  await recordShardCount(redis, shards, log);
}

async function checkDurability(redis: Redis, mayLose: boolean, log: Log): Promise<void> {
  const { unknown, mismatches } = await compareConfiguration(intakeConfiguration, redis);
  if (unknown.length > 0)
    log.warn(
      { unknown, wanted: intakeConfiguration },
      'the server of REDIS_URL does not tell how it is configured: unless it is as wanted, responses that were accepted are lost with it',
    );
  if (mismatches.length === 0) return;
  const trouble = `the server of REDIS_URL would lose responses that were accepted: ${mismatches.join(', ')}`;
  if (!mayLose) throw new SettingsError(`${trouble}. Configure it so, or accept the loss with INTAKE_MAY_LOSE=true`);
  log.warn({ wanted: intakeConfiguration }, `${trouble}; INTAKE_MAY_LOSE accepts it`);
}

const shardsKey = 'intake:shards';
const maxShards = 64;

/**
 * A survey's shard follows from how many there are: with another number what waits in the streams would never be stored, and counts and
 * keys would be looked for where they are not. The first start whose number can be right notes it.
 */
async function recordShardCount(redis: Redis, shards: number, log: Log): Promise<void> {
  if ((await redis.exists(shardsKey)) === 0) {
    await refuseLeftoverShards(redis, shards, log);
    await redis.setnx(shardsKey, shards);
  }
  const noted = Number(await redis.get(shardsKey));
  if (noted === shards) return;
  throw new SettingsError(
    `INTAKE_SHARDS is ${shards}, but this intake was begun with ${noted}: set INTAKE_SHARDS=${noted}. Another number needs an empty intake (a REDIS_URL or DATA_DIR of its own), as docs/operating.md says; if it never was ${noted}, stop all processes and remove the key ${shardsKey}`,
  );
}

/** An intake that is older than the note may have had more shards once: their streams stay as keys, and hold nobody up when all is stored. */
async function refuseLeftoverShards(redis: Redis, shards: number, log: Log): Promise<void> {
  const { stats } = createStream(redis);
  const { all } = createShards(maxShards);
  const look = async (shard: Shard) => ({
    shard,
    isThere: (await redis.exists(shard.stream)) === 1,
    isWaiting: (await stats(shard)).oldestMs !== undefined,
  });
  const beyond = await Promise.all(all.slice(shards).map(look));
  const left = beyond.findLast(({ isWaiting }) => isWaiting)?.shard;
  if (left)
    throw new SettingsError(
      `INTAKE_SHARDS is ${shards}, but ${left.stream} of this intake holds responses that are not stored yet: set INTAKE_SHARDS=${left.index + 1}, or remove that key if they may be lost`,
    );
  const last = beyond.findLast(({ isThere }) => isThere)?.shard;
  if (last)
    log.warn(
      { shards },
      `this intake has had ${last.index + 1} shards or more once; if that was so until now, stop all processes, remove the key ${shardsKey}, and set INTAKE_SHARDS as it was`,
    );
}
