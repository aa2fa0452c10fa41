import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';
import { SettingsError } from '../../settings.ts';
import { createShards } from './shards.ts';
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
export async function checkIntake(redis: Redis, { shards, mayLose, log }: IntakeCheckOptions): Promise<void> {
  await checkDurability(redis, mayLose, log);
  await noteShards(redis, shards, log);
}

async function checkDurability(redis: Redis, mayLose: boolean, log: Log): Promise<void> {
  const found = await configurationOf(redis);
  const unknown = Object.keys(intakeConfiguration).filter((name) => !found.has(name));
  const wrong = Object.entries(intakeConfiguration).filter(([name, value]) => found.has(name) && found.get(name) !== value).map(([name, value]) => `${name} is ${found.get(name)}, not ${value}`);
  if (unknown.length > 0) log.warn({ unknown, wanted: intakeConfiguration }, 'the server of REDIS_URL does not tell how it is configured: unless it is as wanted, responses that were accepted are lost with it');
  if (wrong.length === 0) return;
  const trouble = `the server of REDIS_URL would lose responses that were accepted: ${wrong.join(', ')}`;
  if (!mayLose) throw new SettingsError(`${trouble}. Configure it so, or accept the loss with INTAKE_MAY_LOSE=true`);
  log.warn({ wanted: intakeConfiguration }, `${trouble}; INTAKE_MAY_LOSE accepts it`);
}

/** What the server tells; those that share theirs with others often hide some or all of it. */
async function configurationOf(redis: Redis): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of Object.keys(intakeConfiguration)) {
    const reply: unknown = await redis.call('CONFIG', 'GET', name).catch(nothingIfRefused);
    if (Array.isArray(reply) && reply.length === 2) found.set(name, String(reply[1]));
  }
  const info = await redis.info().catch(nothingIfRefused);
  const figure = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info ?? '')?.[1];
  const [log, policy] = [figure('aof_enabled'), figure('maxmemory_policy')];
  // Without such a file a server may be durable by a log of its own: only its configuration says that it is meant to lose what it holds.
  if (!found.has('appendonly') && log === '1') found.set('appendonly', 'yes');
  if (!found.has('maxmemory-policy') && policy !== undefined) found.set('maxmemory-policy', policy);
  return found;
}

/** A server that forbids the command, or does not know it; one that is away is another matter. */
function nothingIfRefused(error: unknown): undefined {
  if (error instanceof Error && error.name === 'ReplyError') return undefined;
  throw error;
}

const shardsKey = 'intake:shards';
const shardsAtMost = 64;

/**
 * A survey's shard follows from how many there are: with another number what waits in the streams would never be stored, and counts and
 * keys would be looked for where they are not. The first start whose number can be right notes it.
 */
async function noteShards(redis: Redis, shards: number, log: Log): Promise<void> {
  if ((await redis.exists(shardsKey)) === 0) {
    await checkStreams(redis, shards, log);
    await redis.setnx(shardsKey, shards);
  }
  const noted = Number(await redis.get(shardsKey));
  if (noted === shards) return;
  throw new SettingsError(
    `INTAKE_SHARDS is ${shards}, but this intake was begun with ${noted}: set INTAKE_SHARDS=${noted}. Another number needs an empty intake (a REDIS_URL or DATA_DIR of its own), as the README says; if it never was ${noted}, stop all processes and remove the key ${shardsKey}`,
  );
}

/** An intake that is older than the note may have had more shards once: their streams stay as keys, and hold nobody up when all is stored. */
async function checkStreams(redis: Redis, shards: number, log: Log): Promise<void> {
  const { state } = createStream(redis);
  const { all } = createShards(shardsAtMost);
  const beyond = await Promise.all(all.slice(shards).map(async (shard) => ({ shard, isThere: (await redis.exists(shard.stream)) === 1, isWaiting: (await state(shard)).oldestMs !== undefined })));
  const left = beyond.findLast(({ isWaiting }) => isWaiting)?.shard;
  if (left)
    throw new SettingsError(
      `INTAKE_SHARDS is ${shards}, but ${left.stream} of this intake holds responses that are not stored yet: set INTAKE_SHARDS=${left.index + 1}, or remove that key if they may be lost`,
    );
  const last = beyond.findLast(({ isThere }) => isThere)?.shard;
  if (last) log.warn({ shards }, `this intake has had ${last.index + 1} shards or more once; if that was so until now, stop all processes, remove the key ${shardsKey}, and set INTAKE_SHARDS as it was`);
}
