import { backoffMs } from '../../../platform/backoff.ts';

/** The most that an insert may take. */
export const longestInsertMs = 60_000;

/** A first attempt that takes longer is probably on a dead connection. Later attempts get more time. */
const range = { firstMs: 10_000, maxMs: longestInsertMs };

/** How long an insert may take. `attempt`: the number of previous attempts. */
export const insertTimeoutMs = (attempt: number): number => backoffMs(attempt, range);

/** The first attempt that may take `longestInsertMs`. */
export const longestAttempt = Math.ceil(Math.log2(range.maxMs / range.firstMs));
