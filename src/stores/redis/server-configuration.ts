import type { Redis } from 'ioredis';

export interface ConfigurationDifference {
  /** What the server does not tell. */
  unknown: string[];
  /** What is not as wanted, in words. */
  mismatches: string[];
}

/** How a server's configuration differs from what is wanted. Those that share theirs with others often hide some or all of it. */
export async function compareConfiguration(
  wanted: Readonly<Record<string, string>>,
  redis: Redis,
): Promise<ConfigurationDifference> {
  const names = Object.keys(wanted);
  const found = await readConfiguration(redis, names);
  return {
    unknown: names.filter((name) => !found.has(name)),
    mismatches: names
      .filter((name) => found.has(name) && found.get(name) !== wanted[name])
      .map((name) => `${name} is ${found.get(name)}, not ${wanted[name]}`),
  };
}

async function readConfiguration(redis: Redis, names: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of names) {
    const reply: unknown = await redis.call('CONFIG', 'GET', name).catch(undefinedIfForbidden);
    if (Array.isArray(reply) && reply.length === 2) found.set(name, String(reply[1]));
  }
  const info = await redis.info().catch(undefinedIfForbidden);
  const infoField = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info ?? '')?.[1];
  const [log, policy] = [infoField('aof_enabled'), infoField('maxmemory_policy')];
  // Without such a file a server may be durable by a log of its own: only its configuration says that it is meant to lose what it holds.
  if (!found.has('appendonly') && log === '1') found.set('appendonly', 'yes');
  if (!found.has('maxmemory-policy') && policy !== undefined) found.set('maxmemory-policy', policy);
  return found;
}

/** A server that forbids the command, or does not know it; one that is away is another matter. */
function undefinedIfForbidden(error: unknown): undefined {
  if (error instanceof Error && error.name === 'ReplyError') return undefined;
  throw error;
}
