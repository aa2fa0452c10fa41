import type { Redis } from 'ioredis';

export interface ConfigurationDifference {
  /** Names of settings that the server does not show. */
  unknown: string[];
  /** Settings that are not as wanted, each as a sentence: `appendonly is no, not yes`. */
  mismatches: string[];
}

/** Compares a server's configuration with the wanted one. Hosted servers often hide some or all of theirs. */
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
  // A server without such a file may be durable in another way, so only CONFIG can show that it is not.
  if (!found.has('appendonly') && log === '1') found.set('appendonly', 'yes');
  if (!found.has('maxmemory-policy') && policy !== undefined) found.set('maxmemory-policy', policy);
  return found;
}

/** For a server that forbids or does not know the command; other errors are thrown. */
function undefinedIfForbidden(error: unknown): undefined {
  if (error instanceof Error && error.name === 'ReplyError') return undefined;
  throw error;
}
