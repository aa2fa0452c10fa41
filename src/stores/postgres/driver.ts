import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Sql as AnySql, Options, ReservedSql as Reserved, TransactionSql } from 'postgres';

export type Sql = AnySql<{ bigint: number }>;
export type Tx = TransactionSql<{ bigint: number }>;
export type ReservedSql = Reserved<{ bigint: number }>;

/** What the correction adds to the options of postgres.js. */
export interface SilenceOptions {
  /** Seconds without a byte after which a connection that owes a reply is destroyed; 0 is never. */
  silence_timeout?: number;
  /** A connection was destroyed for its silence. */
  onsilence?(): void;
}

type Types = { bigint: { to: number; from: number[]; serialize(value: number): string; parse(text: string): number } };

const load = createRequire(import.meta.url);
const correctedCopy = fileURLToPath(new URL('../../../postgres/index.js', import.meta.url));

/**
 * The PostgreSQL client, postgres.js, as the build has corrected it (scripts/correct-postgres.mjs): the package's own
 * loses a place of the pool with every connection that breaks in a transaction, and does not notice a connection that
 * is silent.
 */
export const postgres = load(correctedCopy) as (url: string, options: Options<Types> & SilenceOptions) => Sql;

/** A transaction or a reserved connection may owe a reply for so many seconds; 0 is without a bound. */
export function setReplyTimeout(connection: Tx | ReservedSql, seconds: number): void {
  (connection as unknown as { patience(seconds: number): void }).patience(seconds);
}
