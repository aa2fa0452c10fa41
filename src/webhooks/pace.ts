export interface PaceDeps {
  /** Requests a second that go out in any case. */
  leastPerSecond: number;
  /** Whether respondents need the machine. */
  isUnderLoad(): Promise<boolean>;
}

const lookMs = 250;
const growth = 1.1;
/** More requests a second than one process sends. */
const unlimited = 10_000;

/**
 * How many requests a second may go out. At each look under load it is half of what went out or might have, but never
 * below `leastPerSecond`; at each look without load it is a tenth more, until there is no limit.
 */
export function createPace({ leastPerSecond, isUnderLoad }: PaceDeps) {
  let perSecond = Number.POSITIVE_INFINITY;
  let begun = 0;
  let looking: NodeJS.Timeout | undefined;

  const adjust = (isLoaded: boolean): void => {
    const wentOut = (begun * 1000) / lookMs;
    if (isLoaded) perSecond = Math.max(leastPerSecond, Math.min(perSecond, wentOut) / 2);
    else perSecond = perSecond * growth > unlimited ? Number.POSITIVE_INFINITY : perSecond * growth;
    if (begun === 0 && perSecond === Number.POSITIVE_INFINITY) {
      clearInterval(looking);
      looking = undefined;
    }
    begun = 0;
  };

  return {
    perSecond: (): number => perSecond,
    /** Counts requests that go out, or work that costs as much. Without any there is nothing to look for. */
    begin(requests = 1): void {
      begun += requests;
      looking ??= setInterval(() => void isUnderLoad().then(adjust, () => adjust(false)), lookMs).unref();
    },
  };
}

export type Pace = ReturnType<typeof createPace>;
