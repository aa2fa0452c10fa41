/** Remembers what was made lately, up to a number of bytes; the oldest goes first. */
export function createKept<T>(atMostBytes: number) {
  const kept = new Map<string, { value: T; bytes: number }>();
  let all = 0;
  const drop = (key: string): void => {
    all -= kept.get(key)?.bytes ?? 0;
    kept.delete(key);
  };
  return {
    get: (key: string): T | undefined => kept.get(key)?.value,
    put(key: string, value: T, bytes: number): void {
      drop(key);
      kept.set(key, { value, bytes });
      all += bytes;
      for (const oldest of kept.keys()) {
        if (all <= atMostBytes) return;
        drop(oldest);
      }
    },
    drop,
  };
}
