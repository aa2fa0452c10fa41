import { boundedTransaction, type Sql, type Tx } from './client.ts';

const mostMs = 30 * 60_000;

/**
 * For work that goes through all findings of a survey while nobody waits with an open request: the bound of other
 * statements would end it.
 */
export function withLongTimeout<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  return boundedTransaction(sql, mostMs, work);
}
