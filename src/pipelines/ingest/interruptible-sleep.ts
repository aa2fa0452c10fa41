/**
 * Pauses that `wakeAll` ends at once; later ones end immediately. (Racing each pause against one promise of the end
 * would keep memory of every pause until then.)
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
