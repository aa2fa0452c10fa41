import { setTimeout as pause } from 'node:timers/promises';
import { Problem, unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { isRedisUnavailable } from '../redis/errors.ts';
import { postgres, type Sql, setReplyTimeout, type Tx } from './driver.ts';

export type { Sql, Tx } from './driver.ts';

/** Node and server codes that say "away", not "wrong". */
const unavailableCodes = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EMFILE',
  'ENFILE',
  '40P01',
  '40001',
  '57P01',
  '57P02',
  '57P03',
  '08006',
  '08001',
  '53300',
  '57014',
  '55P03',
  '53100',
]);

export function isPostgresUnavailable(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string' &&
    unavailableCodes.has(error.code)
  );
}

export interface PostgresOptions {
  log: Log;
  poolSize?: number;
  /** Seconds without a byte after which a connection that owes a reply is dead; short in tests. */
  replyTimeoutSeconds?: number;
}

const statementTimeoutMs = 10_000;
/** PostgreSQL ends a statement that takes too long and says so: this is for the way there and back. */
const replyMarginSeconds = 2;
const defaultReplyTimeoutSeconds = statementTimeoutMs / 1000 + replyMarginSeconds;

/**
 * Opens the control plane's pool. Whole numbers of 64 bits arrive as numbers (none of ours passes 2^53). Statements
 * are bounded to 10 s, waiting for a connection to 5 s. A connection that owes a reply and receives no byte for 12 s
 * is given up: its statements fail as CONNECTION_CLOSED, and idle connections are closed with it. The system looks
 * after connections by itself, too (TCP keepalive from 10 s on), which a server or proxy that stands still passes.
 */
export function createPostgres(
  url: string,
  { log, poolSize = 10, replyTimeoutSeconds = defaultReplyTimeoutSeconds }: PostgresOptions,
): Sql {
  return postgres(url, {
    max: poolSize,
    connect_timeout: 5,
    idle_timeout: 300,
    keep_alive: 10,
    silence_timeout: replyTimeoutSeconds,
    onsilence: () => log.warn({ seconds: replyTimeoutSeconds }, 'a connection to PostgreSQL is silent and is given up'),
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 1),
    connection: { statement_timeout: statementTimeoutMs, lock_timeout: 5000, application_name: 'survey-service' },
    onnotice: (notice) => log.debug({ notice: notice.message }, 'postgres notice'),
    types: { bigint: { to: 20, from: [20], serialize: (value: number) => String(value), parse: Number } },
  });
}

/**
 * Runs a step against the control plane. While the database is away, or slower than `mostMs`, the caller gets
 * SERVICE_UNAVAILABLE; problems of the table pass through untouched.
 */
export async function withPostgres<T>(step: () => Promise<T>, timeoutMs = 6000): Promise<T> {
  try {
    return await withTimeout(step(), timeoutMs);
  } catch (error) {
    if (error instanceof Problem || !isPostgresUnavailable(error)) throw error;
    throw unavailable('The control plane cannot be reached', 2, error);
  }
}

/** Statements of this transaction may take so long, instead of the 10 s of others, and be silent for as long. */
export function boundedTransaction<T>(sql: Sql, mostMs: number, work: (tx: Tx) => Promise<T>): Promise<T> {
  return sql.begin(async (tx) => {
    await tx`SELECT set_config('statement_timeout', ${String(Math.ceil(mostMs))}, true)`;
    setReplyTimeout(tx, mostMs / 1000 + replyMarginSeconds);
    return work(tx);
  }) as Promise<T>;
}

/**
 * Runs a statement, or a transaction, again that the database has undone because others stood in its way and it in
 * theirs.
 */
export async function retryOnDeadlock<T>(step: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await step();
    } catch (error) {
      const isDeadlock =
        typeof error === 'object' &&
        error !== null &&
        'code' in error &&
        (error.code === '40P01' || error.code === '40001');
      if (!isDeadlock || tries === maxDeadlockAttempts) throw error;
    }
}

const maxDeadlockAttempts = 3;

/**
 * Runs a step again that a store was away for, after each of these waits: for what was dear to make, and may be
 * stored twice.
 */
export async function retryOnOutage<T>(
  step: () => Promise<T>,
  waitsMs: readonly number[] = [250, 1000, 4000],
): Promise<T> {
  for (let tries = 0; ; tries += 1)
    try {
      return await step();
    } catch (error) {
      const waitMs = waitsMs[tries];
      const isAway =
        isPostgresUnavailable(error) ||
        isRedisUnavailable(error) ||
        (error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE');
      if (!isAway || waitMs === undefined) throw error;
      await pause(waitMs);
    }
}

function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable('The control plane did not answer in time')), ms);
  });
  return Promise.race([work, tooLong]).finally(() => clearTimeout(timer));
}
