import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Sql as AnySql, Options, ReservedSql as Reserved, TransactionSql } from 'postgres';
import type { RefusableCall } from './refusable-call.ts';
import type { valueTypes } from './value-types.ts';

export type Sql = AnySql<{ bigint: number }>;
export type Tx = TransactionSql<{ bigint: number }>;
export type ReservedSql = Reserved<{ bigint: number }>;

/** Options added by the correction of postgres.js. */
export interface CorrectionOptions {
  /** Seconds without a byte after which a connection that owes a reply is destroyed; 0 means never. */
  silence_timeout?: number;
  /** Called when a connection is destroyed for its silence. */
  onsilence?(): void;
  /** The call that a query or transaction belongs to, asked when it is made. */
  part_of?(): RefusableCall | undefined;
}

const load = createRequire(import.meta.url);
const correctedCopy = fileURLToPath(new URL('../../../postgres/index.js', import.meta.url));

/**
 * postgres.js, corrected by the build (scripts/correct-postgres.mjs): the original loses a place of the pool with every
 * connection that breaks in a transaction, and does not notice a silent connection.
 */
export const postgres = load(correctedCopy) as (
  url: string,
  options: Options<typeof valueTypes> & CorrectionOptions,
) => Sql;

/** Sets how many seconds a transaction or reserved connection may wait for a reply; 0 means no limit. */
export function setReplyTimeout(connection: Tx | ReservedSql, seconds: number): void {
  (connection as unknown as { patience(seconds: number): void }).patience(seconds);
}
