import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';
import { SettingsError } from '../../settings.ts';
import { createShards } from './shards.ts';

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
  await noteShards(redis, shards);
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
  if (!found.has('appendonly') && log !== undefined) found.set('appendonly', log === '1' ? 'yes' : 'no');
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
 * keys would be looked for where they are not. The first start notes it.
 */
async function noteShards(redis: Redis, shards: number): Promise<void> {
  await redis.setnx(shardsKey, Math.max(shards, await shardsInUse(redis)));
  const noted = Number(await redis.get(shardsKey));
  if (noted === shards) return;
  throw new SettingsError(
    `INTAKE_SHARDS is ${shards}, but this intake was begun with ${noted}: set INTAKE_SHARDS=${noted}. Another number needs an empty intake (a REDIS_URL or DATA_DIR of its own), as the README says`,
  );
}

/** Of an intake that is older than the note: at least as many as it has streams. */
async function shardsInUse(redis: Redis): Promise<number> {
  const present = await Promise.all(createShards(shardsAtMost).all.map(({ stream }) => redis.exists(stream)));
  return present.lastIndexOf(1) + 1;
}
