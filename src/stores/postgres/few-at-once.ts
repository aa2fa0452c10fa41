import { unavailable } from '../../errors.ts';
import { createGate } from '../../gate.ts';
import { boundedTransaction, withPostgres, type Sql, type Tx } from './client.ts';

export interface FewAtOnceOptions {
  /** Connections of the pool that this work may hold together. */
  atOnce?: number;
  /** For waiting and working; then SERVICE_UNAVAILABLE. */
  mostMs?: number;
}

const tooLong = 'So many answers could not be gone through in time';

/** For reads that go through all findings of a survey while somebody waits with an open request: most connections stay with quick statements, whatever is asked for. */
export function createFewAtOnce(sql: Sql, { atOnce = 2, mostMs = 20_000 }: FewAtOnceOptions = {}) {
  const gate = createGate({ atOnce, waiting: 1000, retryAfterSeconds: 5, refusal: tooLong });
  return <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const end = performance.now() + mostMs;
    const read = () =>
      gate.run(async () => {
        const leftMs = end - performance.now();
        if (leftMs <= 0) throw unavailable(tooLong, 5);
        return boundedTransaction(sql, leftMs, work);
      });
    return withPostgres(read, mostMs);
  };
}
