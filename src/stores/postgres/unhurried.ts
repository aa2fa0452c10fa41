import type { Sql, Tx } from './client.ts';

/** For work that goes through all findings of a survey while nobody waits with an open request: the bound of other statements would end it. */
export function unhurried<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  return sql.begin(async (tx) => {
    await tx`SET LOCAL statement_timeout = '30min'`;
    return work(tx);
  }) as Promise<T>;
}
