import { createRecentMap } from '../recent-map.ts';

export interface FreshCacheOptions<Value> {
  /** An answer counts for this long from the moment the question was asked. */
  maxAgeMs: number;
  capacity: number;
  load(key: string): Promise<Value>;
  /** Must never step back. */
  monotonicMs?(): number;
}

/** Remembers answers for a moment; callers who ask at once share one question. A failed question is not remembered. */
export function createFreshCache<Value>({ maxAgeMs, capacity, load, monotonicMs = () => performance.now() }: FreshCacheOptions<Value>) {
  const entries = createRecentMap<{ askedAtMs: number; answer: Promise<Value> }>(capacity);
  return {
    get(key: string): Promise<Value> {
      const nowMs = monotonicMs();
      const known = entries.get(key);
      if (known && nowMs - known.askedAtMs < maxAgeMs) return known.answer;
      const entry = { askedAtMs: nowMs, answer: load(key) };
      entries.set(key, entry);
      entry.answer.catch(() => {
        if (entries.get(key) === entry) entries.delete(key);
      });
      return entry.answer;
    },
    /** The next question is asked anew, even while one is under way. */
    forget: (key: string): void => entries.delete(key),
    forgetAll: (): void => entries.clear(),
  };
}

export type FreshCache<Value> = ReturnType<typeof createFreshCache<Value>>;
