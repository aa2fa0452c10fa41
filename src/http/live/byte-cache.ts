/** Remembers what was made lately, up to a number of bytes; the oldest goes first. */
export function createByteCache<T>(maxBytes: number) {
  const entries = new Map<string, { value: T; bytes: number }>();
  let totalBytes = 0;
  const drop = (key: string): void => {
    totalBytes -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  };
  return {
    get: (key: string): T | undefined => entries.get(key)?.value,
    set(key: string, value: T, bytes: number): void {
      drop(key);
      entries.set(key, { value, bytes });
      totalBytes += bytes;
      for (const oldest of entries.keys()) {
        if (totalBytes <= maxBytes) return;
        drop(oldest);
      }
    },
    drop,
  };
}
