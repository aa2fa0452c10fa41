/** By this code `npm test` knows a missed bar of time from other failures: it is measured again with nothing beside it. */
const code = 'TIME_BAR_MISSED';
/** A refusal takes 2.5 s at most; two busy processors may add to it. */
const typicalRefusalMs = 3500;
/** No refusal may take longer, also if a store is ending. */
const longestRefusalMs = 10_000;

/** Fails where it took longer than the bar. */
export function assertWithin(barMs: number, tookMs: number, what = 'it'): void {
  if (tookMs <= barMs) return;
  const message = `${what} took ${Math.round(tookMs)} ms, ${Math.round(barMs)} are allowed`;
  throw Object.assign(new Error(message), { code });
}

/**
 * Fails where refusals took too long: most of them are held to the narrow bar, since a busy machine may hold up a few,
 * and each to a wide one.
 */
export function assertRefusedInTime(refusalsMs: readonly number[]): void {
  const inOrder = refusalsMs.toSorted((a, b) => a - b);
  assertWithin(typicalRefusalMs, inOrder[(inOrder.length - 1) >> 1] ?? 0, 'half of the refusals');
  assertWithin(longestRefusalMs, inOrder.at(-1) ?? 0, 'the longest refusal');
}
