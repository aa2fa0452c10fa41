/** A pause after the end lasts so long at most: without any, attempts that all fail at once would hold the event loop. */
const mostMsAfterEnd = 20;

/**
 * Pauses that `wakeAll` ends at once; later ones are short. (Racing each pause against one promise of the end would keep
 * memory of every pause until then.)
 */
export function createInterruptibleSleep() {
  const sleeping = new Set<() => void>();
  let isEnded = false;
  return {
    sleep: (ms: number): Promise<void> =>
      new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          sleeping.delete(end);
          resolve();
        };
        const timer = setTimeout(end, isEnded ? Math.min(ms, mostMsAfterEnd) : ms);
        sleeping.add(end);
      }),
    wakeAll(): void {
      isEnded = true;
      for (const end of sleeping) end();
    },
  };
}
