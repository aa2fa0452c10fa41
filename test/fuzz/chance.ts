/** Randomness that a seed repeats. */
export interface Chance {
  /** 0 ≤ x < 1 */
  next(): number;
  /** A whole number from 0 to `below` − 1. */
  below(below: number): number;
  /** True in this share of cases. */
  is(share: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** One of the entries, as often as its weight says. */
  weighted<T>(from: readonly (readonly [number, T])[]): T;
}

/** Mulberry32: 32 bits of state are enough to spread test cases. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const pick = <T>(from: readonly T[]): T => {
    if (from.length === 0) throw new Error('there is nothing to pick from');
    return from[below(from.length)] as T;
  };
  const weighted = <T>(from: readonly (readonly [number, T])[]): T => {
    let at = next() * from.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, entry] of from) {
      at -= weight;
      if (at < 0) return entry;
    }
    return pick(from)[1];
  };
  return { next, below, is: (share) => next() < share, pick, weighted };
}
