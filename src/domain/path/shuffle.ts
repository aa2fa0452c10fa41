/**
 * The order in which items are shown follows from the response's id alone, so that every client shows the same one.
 * `docs/guide/shuffled-order.md` has the generator with test vectors in three languages.
 */

/** The seed of one shuffle: FNV-1a (32 bits) of the UTF-8 bytes of `<responseId>/<scope>`, in lower case. */
export function seedOf(responseId: string, scope: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${responseId}/${scope}`.toLowerCase()))
    hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** SplitMix32: each call gives the next of its numbers, 0 to 2^32 − 1. */
export function createGenerator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    mixed ^= mixed >>> 15;
    return mixed >>> 0;
  };
}

/**
 * The items in the order of a seed: Fisher–Yates from the last to the second place over those that are not anchored;
 * anchored ones keep their places. The item for place i is number floor(r · (i + 1) / 2^32).
 */
export function shuffled<T>(items: readonly T[], isAnchored: (item: T) => boolean, seed: number): T[] {
  const next = createGenerator(seed);
  const free = items.filter((item) => !isAnchored(item));
  for (let place = free.length - 1; place > 0; place -= 1) {
    // Below 2^53, so that the product is exact.
    const other = Math.floor((next() * (place + 1)) / 2 ** 32);
    [free[place], free[other]] = [free[other] as T, free[place] as T];
  }
  let taken = 0;
  return items.map((item) => (isAnchored(item) ? item : (free[taken++] as T)));
}
