import { createLruCache } from './lru-cache.ts';

/** Keys that are remembered; the least recently used are forgotten first, and are due again. */
const capacity = 20_000;

/** Returns whether a key is due: the first time, and again when the interval has passed since it was last due. */
export function createAtMostOnce(nowMs: () => number = () => performance.now()) {
  const lastMs = createLruCache<number>(capacity);
  return (key: string, intervalMs: number): boolean => {
    const now = nowMs();
    const last = lastMs.get(key);
    if (last !== undefined && now - last < intervalMs) return false;
    lastMs.set(key, now);
    return true;
  };
}
