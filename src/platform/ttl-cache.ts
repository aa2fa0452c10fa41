import { createLruCache } from './lru-cache.ts';

export interface TtlCacheOptions<Value> {
  /** Lifetime of a value, from the start of its load. */
  ttlMs: number;
  capacity: number;
  load(key: string): Promise<Value>;
  /** Must never step back. */
  monotonicMs?(): number;
}

/** Caches loaded values for `ttlMs`; concurrent callers share one load. Failed loads are not cached. */
export function createTtlCache<Value>({
  ttlMs,
  capacity,
  load,
  monotonicMs = () => performance.now(),
}: TtlCacheOptions<Value>) {
  const entries = createLruCache<{ loadedAtMs: number; value: Promise<Value> }>(capacity);
  return {
    get(key: string): Promise<Value> {
      const nowMs = monotonicMs();
      const known = entries.get(key);
      if (known && nowMs - known.loadedAtMs < ttlMs) return known.value;
      const entry = { loadedAtMs: nowMs, value: load(key) };
      entries.set(key, entry);
      entry.value.catch(() => {
        if (entries.get(key) === entry) entries.delete(key);
      });
      return entry.value;
    },
    /** The next `get` loads again, even during a load. */
    delete: (key: string): void => entries.delete(key),
    clear: (): void => entries.clear(),
  };
}
