import type { Redis } from 'ioredis';
import type { ClickHouse } from './clickhouse/client.ts';
import { reasonOf, StartError } from './embedded/start-error.ts';
import type { Sql } from './postgres/client.ts';

/** The first word with each store. Throws a StartError of one line: the setting, where it points to without its password, and why that is of no use. */
export const firstContact = {
  async redis(redis: Redis, setting: 'REDIS_URL' | 'REDIS_JOBS_URL', url: string): Promise<void> {
    // What the call itself says is only that the connection is closed.
    let last: unknown;
    const note = (error: unknown) => void (last = error);
    redis.on('error', note);
    try {
      await named(setting, [url], redis.connect().catch((error: unknown) => Promise.reject(last ?? error)));
    } finally {
      redis.off('error', note);
    }
  },
  postgres: (sql: Sql, url: string): Promise<void> => named('DATABASE_URL', [url], sql`SELECT 1`),
  clickhouse: (clickhouse: Pick<ClickHouse, 'select'>, urls: readonly string[]): Promise<void> =>
    named('CLICKHOUSE_URL', urls, clickhouse.select<[string]>('SELECT version()').then(
      ([row]) => refuseOld(row?.[0] ?? ''),
      (error: unknown) => Promise.reject(error instanceof Error && error.cause instanceof Error ? error.cause : error),
    )),
};

/** From then on all tables of a statement can be read in one state, without which the counts of different questions need not belong together. */
const leastClickHouse = [25, 6] as const;

function refuseOld(version: string): void {
  const [year, month] = version.split('.').map(Number);
  if (year === undefined || month === undefined || Number.isNaN(year + month)) return;
  const [leastYear, leastMonth] = leastClickHouse;
  if (year < leastYear || (year === leastYear && month < leastMonth)) throw new Error(`it is ClickHouse ${version}, and ${leastClickHouse.join('.')} or newer is needed`);
}

async function named(setting: string, urls: readonly string[], contact: PromiseLike<unknown>): Promise<void> {
  try {
    await contact;
  } catch (error) {
    throw new StartError(`the server of ${setting} (${urls.map(placeOf).join(', ')}) cannot be used: ${reasonFor(error)}`, { cause: error });
  }
}

/** Without user and password. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return host + (pathname === '/' ? '' : pathname);
}

/** Of a name with several addresses each has a reason of its own. */
function reasonFor(error: unknown): string {
  return error instanceof AggregateError && error.errors.length > 0 ? error.errors.map(reasonOf).join('; ') : reasonOf(error);
}
