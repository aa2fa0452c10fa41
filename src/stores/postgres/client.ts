import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { Problem, unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { isRedisAway } from '../redis/away.ts';

export type Sql = postgres.Sql<{ bigint: number }>;
export type Tx = postgres.TransactionSql<{ bigint: number }>;

/** Node and server codes that say "away", not "wrong". */
const awayCodes = new Set([
  'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'CONNECT_TIMEOUT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EMFILE', 'ENFILE',
  '40P01', '40001', '57P01', '57P02', '57P03', '08006', '08001', '53300', '57014', '55P03', '53100',
]);

export function isPostgresAway(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' && awayCodes.has(error.code);
}

/**
 * Opens the control plane's pool. Whole numbers of 64 bits arrive as numbers (none of ours passes 2^53).
 * Statements are bounded to 10 s, waiting for a connection to 5 s.
 */
export function createPostgres(url: string, { log, poolSize = 10 }: { log: Log; poolSize?: number }): Sql {
  return postgres(url, {
    max: poolSize,
    connect_timeout: 5,
    idle_timeout: 300,
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 1),
    connection: { statement_timeout: 10_000, lock_timeout: 5000, application_name: 'survey-service' },
    onnotice: (notice) => log.debug({ notice: notice.message }, 'postgres notice'),
    types: { bigint: { to: 20, from: [20], serialize: (value: number) => String(value), parse: Number } },
  });
}

/**
 * Runs a step against the control plane. While the database is away, or slower than `mostMs`, the caller gets SERVICE_UNAVAILABLE;
 * problems of the table pass through untouched.
 */
export async function withPostgres<T>(step: () => Promise<T>, mostMs = 6000): Promise<T> {
  try {
    return await bounded(step(), mostMs);
  } catch (error) {
    if (error instanceof Problem || !isPostgresAway(error)) throw error;
    throw unavailable('The control plane cannot be reached', 2, error);
  }
}

/** Runs a statement, or a transaction, again that the database has undone because others stood in its way and it in theirs. */
export async function pastDeadlocks<T>(step: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await step();
    } catch (error) {
      const isDeadlock = typeof error === 'object' && error !== null && 'code' in error && (error.code === '40P01' || error.code === '40001');
      if (!isDeadlock || tries === deadlockTries) throw error;
    }
}

const deadlockTries = 3;

/** Runs a step again that a store was away for, after each of these waits: for what was dear to make, and may be stored twice. */
export async function pastOutages<T>(step: () => Promise<T>, waitsMs: readonly number[] = [250, 1000, 4000]): Promise<T> {
  for (let tries = 0; ; tries += 1)
    try {
      return await step();
    } catch (error) {
      const waitMs = waitsMs[tries];
      const isAway = isPostgresAway(error) || isRedisAway(error) || (error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE');
      if (!isAway || waitMs === undefined) throw error;
      await pause(waitMs);
    }
}

function bounded<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable('The control plane did not answer in time')), ms);
  });
  return Promise.race([work, tooLong]).finally(() => clearTimeout(timer));
}
