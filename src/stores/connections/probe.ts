import type { Redis } from 'ioredis';
import { Problem } from '../../errors.ts';
import { errorMessage, StartError } from '../../platform/start-error.ts';
import { SettingsError } from '../../settings/settings.ts';
import type { ClickHouse } from '../clickhouse/client.ts';
import type { Sql } from '../postgres/client.ts';
import { isPostgresUnavailable } from '../postgres/errors.ts';
import { isRedisUnavailable } from '../redis/errors.ts';
import { NoAnswerError } from './store-connection.ts';

/** Longest wait for the answer to the first call. */
const answerMs = 5000;

/**
 * Makes the first call to each store. Throws a StartError of one line: the setting, its address without a password, and
 * the reason.
 */
export const probeStores = {
  async redis(redis: Redis, setting: 'REDIS_URL' | 'REDIS_JOBS_URL', url: string): Promise<void> {
    // The rejection of the call only says that the connection is closed; the event has the reason.
    let last: unknown;
    const note = (error: unknown): void => {
      last = error;
    };
    redis.on('error', note);
    try {
      await withSettingName(
        setting,
        [url],
        redis
          .connect()
          .catch((error: unknown) => Promise.reject(last ?? error))
          .then(() => assertDatabase(redis)),
      );
    } finally {
      redis.off('error', note);
    }
  },
  postgres: (sql: Sql, url: string): Promise<void> =>
    withSettingName(
      'DATABASE_URL',
      [url],
      sql<{ encoding: string }[]>`SELECT current_setting('server_encoding') AS encoding`.then(([row]) =>
        assertUnicode(row?.encoding ?? ''),
      ),
    ),
  clickhouse: (clickhouse: Pick<ClickHouse, 'select'>, urls: readonly string[]): Promise<void> =>
    withSettingName(
      'CLICKHOUSE_URL',
      urls,
      clickhouse.select<[string]>('SELECT version()').then(([row]) => assertSupportedVersion(row?.[0] ?? '')),
    ),
};

/** The client only reports that the server lacks the URL's database, and goes on in database 0: somebody else's. */
async function assertDatabase(redis: Redis): Promise<void> {
  const { db } = redis.options;
  if (db) await redis.select(db);
}

/** Error codes of a server that is reachable but has a wrong certificate or speaks another protocol. */
const protocolErrorCode =
  /^(?:CERT_|ERR_TLS_|ERR_SSL_|EPROTO$|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH$|HPE_)/;

/**
 * Whether the first call failed because the store is unreachable, unknown or silent; otherwise it refuses, or its
 * settings are wrong.
 */
export function isUnreachableError(error: unknown): boolean {
  const reasons = reasonsOf(error);
  if (reasons.some((reason) => reason instanceof SettingsError || protocolErrorCode.test(codeOf(reason)))) return false;
  return reasons.some(
    (reason) =>
      reason instanceof NoAnswerError ||
      isPostgresUnavailable(reason) ||
      isRedisUnavailable(reason) ||
      (reason instanceof Problem && reason.code === 'SERVICE_UNAVAILABLE'),
  );
}

/** Describes in one line why the first call failed. */
export function describeConnectionError(error: unknown): string {
  return reasonOfFailure(error instanceof StartError ? (error.cause ?? error) : error).replace(/\s*\n\s*/g, ' ');
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** An error with all its causes; if a name has several addresses, there is an error for each. */
function reasonsOf(error: unknown): unknown[] {
  if (!(error instanceof Error)) return [error];
  const causes = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return [error, ...causes, ...(error.cause === undefined ? [] : reasonsOf(error.cause))];
}

/**
 * The first version that reads all tables of a statement from one snapshot, which keeps counts of several questions
 * consistent.
 */
const minClickHouseVersion = [25, 6] as const;

function assertSupportedVersion(version: string): void {
  const [year, month] = version.split('.').map(Number);
  if (year === undefined || month === undefined || Number.isNaN(year + month)) return;
  const [leastYear, leastMonth] = minClickHouseVersion;
  if (year < leastYear || (year === leastYear && month < leastMonth))
    throw new Error(`it is ClickHouse ${version}, and ${minClickHouseVersion.join('.')} or newer is needed`);
}

function assertUnicode(encoding: string): void {
  if (encoding !== 'UTF8')
    throw new Error(
      `the encoding of the database is ${encoding}, and UTF8 is needed: make another by CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    );
}

async function withSettingName(setting: string, urls: readonly string[], contact: PromiseLike<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswerError(answerMs)), answerMs);
  });
  try {
    await Promise.race([contact, silence]);
  } catch (error) {
    throw new StartError(
      `the server of ${setting} (${urls.map(addressOf).join(', ')}) cannot be used: ${reasonOfFailure(error)}`,
      { cause: error },
    );
  } finally {
    clearTimeout(timer);
  }
}

/** The address of a URL, without user and password. */
export function addressOf(url: string): string {
  const { host, pathname } = new URL(url);
  return host + (pathname === '/' ? '' : pathname);
}

/** Errors for each address of a name. */
function reasonOfFailure(error: unknown): string {
  const known = error instanceof Problem && error.cause instanceof Error ? error.cause : error;
  return known instanceof AggregateError && known.errors.length > 0
    ? known.errors.map(errorMessage).join('; ')
    : errorMessage(known);
}
