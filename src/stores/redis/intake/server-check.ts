import type { Redis } from 'ioredis';
import type { Log } from '../../../log.ts';
import { SettingsError } from '../../../settings/settings.ts';
import { compareConfiguration } from '../server-configuration.ts';
import { createShards, type Shard } from './shards.ts';
import { createStream } from './stream.ts';

/** The configuration with which Redis keeps every submission whose acceptance it has confirmed. */
export const intakeConfiguration: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  'maxmemory-policy': 'noeviction',
};

export interface IntakeCheckOptions {
  shards: number;
  /** INTAKE_MAY_LOSE: the operator accepts that accepted responses are lost with the server. */
  mayLose: boolean;
  log: Log;
}

/** Checks the intake's server before anything is accepted. Throws a SettingsError that says what to change. */
export async function checkIntakeServer(redis: Redis, { shards, mayLose, log }: IntakeCheckOptions): Promise<void> {
  await checkDurability(redis, mayLose, log);
  await recordShardCount(redis, shards, log);
}

async function checkDurability(redis: Redis, mayLose: boolean, log: Log): Promise<void> {
  const { unknown, mismatches } = await compareConfiguration(intakeConfiguration, redis);
  if (unknown.length > 0)
    log.warn(
      { unknown, wanted: intakeConfiguration },
      'the server of REDIS_URL does not show its configuration: unless it is as wanted, accepted responses are lost with it',
    );
  if (mismatches.length === 0) return;
  const problem = `the server of REDIS_URL would lose accepted responses: ${mismatches.join(', ')}`;
  if (!mayLose) throw new SettingsError(`${problem}. Configure it so, or accept the loss with INTAKE_MAY_LOSE=true`);
  log.warn({ wanted: intakeConfiguration }, `${problem}; INTAKE_MAY_LOSE accepts it`);
}

const shardsKey = 'intake:shards';
const maxShards = 64;

/**
 * A survey's shard depends on the number of shards. With another number, waiting entries would never be stored, and
 * counts and keys would not be found. The first start stores the number, unless a stream shows that it is wrong.
 */
async function recordShardCount(redis: Redis, shards: number, log: Log): Promise<void> {
  if ((await redis.exists(shardsKey)) === 0) {
    await refuseLeftoverShards(redis, shards, log);
    await redis.setnx(shardsKey, shards);
  }
  await checkShardCount(redis, shards);
}

/** Refuses a number of shards other than the stored one; an intake without a number was never used by this version. */
export async function checkShardCount(redis: Redis, shards: number): Promise<void> {
  const stored = await redis.get(shardsKey);
  if (stored === null || Number(stored) === shards) return;
  throw new SettingsError(
    `INTAKE_SHARDS is ${shards}, but this intake was begun with ${stored}: set INTAKE_SHARDS=${stored}. Another number needs an empty intake (a REDIS_URL or DATA_DIR of its own), as docs/operating.md says; if it never was ${stored}, stop all processes and remove the key ${shardsKey}`,
  );
}

/**
 * An intake of an earlier version may have had more shards: their streams stay as keys, and are harmless when all their
 * entries are stored.
 */
async function refuseLeftoverShards(redis: Redis, shards: number, log: Log): Promise<void> {
  const { stats } = createStream(redis);
  const { all } = createShards(maxShards);
  const inspect = async (shard: Shard) => ({
    shard,
    isThere: (await redis.exists(shard.stream)) === 1,
    isWaiting: (await stats(shard)).oldest !== undefined,
  });
  const beyond = await Promise.all(all.slice(shards).map(inspect));
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
