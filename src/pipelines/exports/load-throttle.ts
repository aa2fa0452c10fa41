export interface LoadThrottleDeps {
  now(): number;
  wait(ms: number): Promise<void>;
}

/** Rest after work, as a multiple of the work. */
const pauseFactor = 8;
const minWorkMs = 40;
const maxPauseMs = 4000;

/** Makes work pause most of the time while the machine is under load. */
export function createLoadThrottle({ now, wait }: LoadThrottleDeps) {
  let isLoaded = false;
  let workingSince = now();
  return {
    isUnderLoad: (): boolean => isLoaded,
    setUnderLoad(isNowLoaded: boolean): void {
      if (isNowLoaded && !isLoaded) workingSince = now();
      isLoaded = isNowLoaded;
    },
    /** Awaited between pieces of work. */
    async waitIfThrottled(): Promise<void> {
      const worked = now() - workingSince;
      if (!isLoaded || worked < minWorkMs) return;
      await wait(Math.min(maxPauseMs, worked * pauseFactor));
      workingSince = now();
    },
  };
}
