/**
 * Pauses that all end when they are ended together, and from then on at once. Nothing is left of one that is over: to race each
 * against one promise of the end would keep something of every pause until then.
 */
export function createInterruptibleSleep() {
  const sleeping = new Set<() => void>();
  let isEnded = false;
  return {
    sleep: (ms: number): Promise<void> =>
      new Promise((resolve) => {
        if (isEnded) return resolve();
        const end = (): void => {
          clearTimeout(timer);
          sleeping.delete(end);
          resolve();
        };
        const timer = setTimeout(end, ms);
        sleeping.add(end);
      }),
    wakeAll(): void {
      isEnded = true;
      for (const end of sleeping) end();
    },
  };
}
