import { backoffMs } from '../../../platform/backoff.ts';

/** A first attempt that takes longer is probably on a dead connection. Later attempts get more time. */
const range = { firstMs: 10_000, maxMs: 60_000 };

/** How long an insert may take. `attempt`: the number of previous attempts. */
export const insertTimeoutMs = (attempt: number): number => backoffMs(attempt, range);

/** Whether the attempt after this one may take longer. */
export const getsLonger = (attempt: number): boolean => insertTimeoutMs(attempt) < range.maxMs;
