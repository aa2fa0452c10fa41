/**
 * A cache that holds at least the `capacity` most recently used keys and at most twice as many. When the recent
 * generation is full, it replaces the previous one, so that every operation is O(1). `onEvict` gets each value that
 * leaves by lack of use or by `clear`.
 */
export function createLruCache<Value>(capacity: number, onEvict?: (value: Value) => void) {
  let recent = new Map<string, Value>();
  let previous = new Map<string, Value>();
  const evictAll = (values: ReadonlyMap<string, Value>) => {
    if (onEvict) for (const value of values.values()) onEvict(value);
  };
  const set = (key: string, value: Value) => {
    // A key is in one generation only, so that a value in use is never evicted.
    previous.delete(key);
    if (recent.size >= capacity && !recent.has(key)) {
      evictAll(previous);
      previous = recent;
      recent = new Map();
    }
    recent.set(key, value);
  };
  const get = (key: string): Value | undefined => {
    const value = recent.get(key);
    if (value !== undefined) return value;
    const previousValue = previous.get(key);
    if (previousValue !== undefined) set(key, previousValue);
    return previousValue;
  };
  return {
    get,
    set,
    getOrCreate(key: string, create: (key: string) => Value): Value {
      const known = get(key);
      if (known !== undefined) return known;
      const value = create(key);
      set(key, value);
      return value;
    },
    delete(key: string): void {
      recent.delete(key);
      previous.delete(key);
    },
    clear(): void {
      evictAll(recent);
      evictAll(previous);
      recent.clear();
      previous.clear();
    },
    get size() {
      return recent.size + previous.size;
    },
  };
}

export type LruCache<Value> = ReturnType<typeof createLruCache<Value>>;
