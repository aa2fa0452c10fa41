export interface Backoff {
  firstMs: number;
  maxMs: number;
}

/** Milliseconds to wait after failure number `failures` (from 0): `firstMs`, doubled each time, at most `maxMs`. */
export const backoffMs = (failures: number, { firstMs, maxMs }: Backoff): number =>
  Math.min(maxMs, firstMs * 2 ** failures);
