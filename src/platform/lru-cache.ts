/**
 * A cache that holds at least the `capacity` most recently used keys and at most twice as many. When the recent generation is full, it
 * replaces the previous one, so that every operation is O(1).
 */
export function createLruCache<Value>(capacity: number) {
  let recent = new Map<string, Value>();
  let previous = new Map<string, Value>();
  const set = (key: string, value: Value) => {
    if (recent.size >= capacity && !recent.has(key)) {
      previous = recent;
      recent = new Map();
    }
    recent.set(key, value);
  };
  return {
    set,
    get(key: string): Value | undefined {
      const value = recent.get(key);
      if (value !== undefined) return value;
      const previousValue = previous.get(key);
      if (previousValue !== undefined) set(key, previousValue);
      return previousValue;
    },
    delete(key: string): void {
      recent.delete(key);
      previous.delete(key);
    },
    clear(): void {
      recent.clear();
      previous.clear();
    },
    get size() {
      return recent.size + previous.size;
    },
  };
}

export type LruCache<Value> = ReturnType<typeof createLruCache<Value>>;
