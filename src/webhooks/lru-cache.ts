/** Keeps the values used last, made when first asked for; `drop` is told of those that go. */
export function createLruCache<Value>(capacity: number, drop: (value: Value) => void = () => undefined) {
  const entries = new Map<string, Value>();
  return {
    get(key: string, make: () => Value): Value {
      const value = entries.get(key) ?? make();
      entries.delete(key);
      entries.set(key, value);
      const [oldest] = entries;
      if (entries.size > capacity && oldest) {
        entries.delete(oldest[0]);
        drop(oldest[1]);
      }
      return value;
    },
    clear(): void {
      for (const value of entries.values()) drop(value);
      entries.clear();
    },
  };
}
