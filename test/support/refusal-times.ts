/** Longer than the bound of a refusal (2.5 s) by what two busy processors may add. */
const typicalMs = 3500;
/** No refusal may take longer, also if a store is ending. */
const maxMs = 10_000;

/**
 * Whether refusals kept to their bound: most of them to the narrow one, since a busy machine may hold up a few, and
 * each to a wide one.
 */
export function areInTime(refusalsMs: readonly number[]): boolean {
  const inOrder = refusalsMs.toSorted((a, b) => a - b);
  return (inOrder[(inOrder.length - 1) >> 1] ?? 0) < typicalMs && (inOrder.at(-1) ?? 0) < maxMs;
}
