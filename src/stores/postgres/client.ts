import { Problem, unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { postgres, type Sql, setReplyTimeout, type Tx } from './driver.ts';
import { isPostgresUnusable } from './errors.ts';
import { currentCall, type RefusableCall, runInCall } from './refusable-call.ts';
import { valueTypes } from './value-types.ts';

export type { Sql, Tx } from './driver.ts';

export interface PostgresOptions {
  log: Log;
  poolSize?: number;
  /**
   * Commits are confirmed before they are on disk: a crash of PostgreSQL undoes the last ones, in the order of writing,
   * so that of two the later one is never kept alone. Spares a sync of the disk that the intake's Redis waits for too.
   */
  isCommitAsynchronous?: boolean;
  /** Seconds without a byte after which a connection that owes a reply is dead; short in tests. */
  replyTimeoutSeconds?: number;
}

const defaultPoolSize = 10;
/** The second pool of a process, with asynchronous commits. */
export const asynchronousPoolSize = 5;
/** How many connections a process of the service holds at most, apart from a few for a start or an export. */
export const connectionsPerProcess = defaultPoolSize + asynchronousPoolSize;
const statementTimeoutMs = 10_000;
/** Added for the network: PostgreSQL itself cancels a statement after its timeout. */
const replyMarginSeconds = 2;
const defaultReplyTimeoutSeconds = statementTimeoutMs / 1000 + replyMarginSeconds;

/**
 * Opens the connection pool of PostgreSQL. Bigints are parsed as numbers, because none exceeds 2^53. Times are written
 * in ISO 8601 and UTC, and bytes as hexadecimal digits, the one form that postgres.js reads, whatever the server, the
 * database or the role is set to. A statement may take 10 s, connecting 5 s. A connection that owes a reply and receives
 * no byte for 12 s is destroyed: its statements fail with CONNECTION_CLOSED, and idle connections are closed too. TCP
 * keepalive (from 10 s) does not notice a server or proxy that is frozen.
 */
export function createPostgres(
  url: string,
  {
    log,
    poolSize = defaultPoolSize,
    isCommitAsynchronous = false,
    replyTimeoutSeconds = defaultReplyTimeoutSeconds,
  }: PostgresOptions,
): Sql {
  return postgres(url, {
    max: poolSize,
    connect_timeout: 5,
    idle_timeout: 300,
    keep_alive: 10,
    silence_timeout: replyTimeoutSeconds,
    onsilence: () => log.warn({ seconds: replyTimeoutSeconds }, 'a connection to PostgreSQL is silent and is given up'),
    part_of: currentCall,
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 1),
    connection: {
      statement_timeout: statementTimeoutMs,
      lock_timeout: 5000,
      application_name: 'survey-service',
      TimeZone: 'UTC',
      DateStyle: 'ISO, YMD',
      bytea_output: 'hex',
      ...(isCommitAsynchronous && { synchronous_commit: 'off' }),
    },
    onnotice: (notice) => log.debug({ notice: notice.message }, 'postgres notice'),
    types: valueTypes,
  });
}

/**
 * Runs a step and turns a database that cannot be used, or a reply that takes longer than `timeoutMs`, into
 * SERVICE_UNAVAILABLE. Other errors pass unchanged. After a refusal no statement of the step is sent any more, and its
 * transaction is rolled back; a statement outside of one, or a COMMIT, that was sent before may still be carried out.
 * This holds for the statements and transactions that the step makes before it first waits, and for steps in
 * `partOfCall`; another later statement must be harmless after a refusal.
 */
export async function withPostgres<T>(step: () => Promise<T>, timeoutMs = 6000): Promise<T> {
  const call: RefusableCall = {};
  try {
    return await orRefused(call, runInCall(call, step), timeoutMs);
  } catch (error) {
    if (error instanceof Problem || !isPostgresUnusable(error)) throw error;
    throw unavailable('The control plane cannot be reached', 2, error);
  }
}

/** False on a standby: it answers, but nothing can be changed. */
export async function isWritable(sql: Sql): Promise<boolean> {
  const [state] = await sql<{ isWritable: boolean }[]>`
    SELECT current_setting('transaction_read_only') = 'off' AS "isWritable"`;
  return state?.isWritable === true;
}

/** A transaction whose statements may each take `timeoutMs` instead of 10 s. */
export function transactionWithTimeout<T>(sql: Sql, timeoutMs: number, work: (tx: Tx) => Promise<T>): Promise<T> {
  return sql.begin(async (tx) => {
    await tx`SELECT set_config('statement_timeout', ${String(Math.ceil(timeoutMs))}, true)`;
    setReplyTimeout(tx, timeoutMs / 1000 + replyMarginSeconds);
    return work(tx);
  }) as Promise<T>;
}

/**
 * Rows with all columns of their table, by a statement that is not prepared. Once a newer version has added a column,
 * PostgreSQL refuses a prepared `SELECT *` at its next use on each connection, and the transaction is lost with it. So
 * transactions use this, or name their columns; a single statement is repeated by the driver. `from` has the id as $1.
 */
export function selectAll<Row extends object>(db: Sql | Tx, from: string, id: string): Promise<Row[]> {
  return db.unsafe<Row[]>(`SELECT * FROM ${from}`, [id]);
}

const longTimeoutMs = 30 * 60_000;

/** A transaction for background work on whole surveys, whose statements may each take 30 minutes. */
export function withLongTimeout<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  return transactionWithTimeout(sql, longTimeoutMs, work);
}

/** The work, or after this time the refusal of its call. */
function orRefused<T>(call: RefusableCall, work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      call.refusal = unavailable('The control plane did not answer in time', 2, new Error(`no answer within ${ms} ms`));
      reject(call.refusal);
    }, ms);
  });
  return Promise.race([work, tooLong]).finally(() => clearTimeout(timer));
}
