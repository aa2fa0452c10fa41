/**
 * A map that forgets: holds at least the `capacity` keys that were set or read last, and at most twice as many. When the young half
 * is full, the old half is dropped and the young one takes its place, so that every operation stays cheap.
 */
export function createRecentMap<Value>(capacity: number) {
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  const set = (key: string, value: Value) => {
    if (young.size >= capacity && !young.has(key)) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  };
  return {
    set,
    get(key: string): Value | undefined {
      const value = young.get(key);
      if (value !== undefined) return value;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    delete(key: string): void {
      young.delete(key);
      old.delete(key);
    },
    clear(): void {
      young.clear();
      old.clear();
    },
    get size() {
      return young.size + old.size;
    },
  };
}

export type RecentMap<Value> = ReturnType<typeof createRecentMap<Value>>;
