import { setTimeout as pause } from 'node:timers/promises';
import type { Intake } from '../stores/redis/intake.ts';

export interface HeldBackOptions {
  intake: Pick<Intake, 'isHeld'>;
  /** Submissions of this process that may wait at once. */
  atMost?: number;
}

const usuallyAtMost = 5000;
const lookMs = 25;

/**
 * Where submissions wait while their survey is held back. However many they are, the intake is asked for each survey alone, a few times
 * a second, whether it is let on: whoever holds it back tells nobody of it, and ends it by saving, by giving up, or by dying.
 */
export function createHeldBack({ intake, atMost = usuallyAtMost }: HeldBackOptions) {
  const looks = new Map<string, Promise<void>>();
  let waiting = 0;

  const look = async (surveyId: string): Promise<void> => {
    do await pause(lookMs);
    while (await intake.isHeld(surveyId));
  };

  const shared = (surveyId: string): Promise<void> => {
    const known = looks.get(surveyId);
    if (known) return known;
    const begun = look(surveyId).finally(() => looks.delete(surveyId));
    looks.set(surveyId, begun);
    return begun;
  };

  return {
    /** Resolves when the survey is let on, however soon somebody holds it back again. False: too many wait already. */
    async letOn(surveyId: string): Promise<boolean> {
      if (waiting >= atMost) return false;
      waiting += 1;
      try {
        await shared(surveyId);
        return true;
      } finally {
        waiting -= 1;
      }
    },
  };
}

export type HeldBack = ReturnType<typeof createHeldBack>;
