import { setTimeout as pause } from 'node:timers/promises';
import type { Intake } from '../../stores/redis/intake/intake.ts';

export interface FrozenSubmissionsOptions {
  intake: Pick<Intake, 'isFrozen'>;
  /** Submissions of this process that may wait at once for one survey; others have places of their own. */
  maxWaiting?: number;
  /** How long they may be all together, in characters. */
  maxWaitingChars?: number;
}

export interface WaitOptions {
  timeoutMs: number;
  /** What is kept meanwhile. */
  chars: number;
}

interface Waiter {
  /** `performance.now()`. */
  untilMs: number;
  chars: number;
  resolve(isReleased: boolean): void;
  reject(error: unknown): void;
}

interface Queue {
  waiters: Set<Waiter>;
  /** Of all of them. */
  chars: number;
}

const defaultMaxWaiting = 5000;
const defaultMaxWaitingChars = 32 * 1024 * 1024;
const pollMs = 25;

/**
 * Where submissions wait while their survey is held back. However many they are, the intake is asked for each survey alone, a few times
 * a second, whether it is let on: whoever holds it back tells nobody of it, and ends it by saving, by giving up, or by dying.
 */
export function createFrozenSubmissions({
  intake,
  maxWaiting = defaultMaxWaiting,
  maxWaitingChars = defaultMaxWaitingChars,
}: FrozenSubmissionsOptions) {
  const waiting = new Map<string, Queue>();

  /** One may hold the survey back after the other, and each look find it held: nobody waits for longer than was said. */
  const poll = async (surveyId: string, queue: Queue): Promise<void> => {
    while (queue.waiters.size > 0) {
      await pause(pollMs);
      const isFrozen = await intake.isFrozen(surveyId);
      const nowMs = performance.now();
      for (const waiter of queue.waiters) {
        if (isFrozen && waiter.untilMs > nowMs) continue;
        queue.waiters.delete(waiter);
        queue.chars -= waiter.chars;
        waiter.resolve(!isFrozen);
      }
    }
    waiting.delete(surveyId);
  };

  const begin = (surveyId: string, queue: Queue): void => {
    waiting.set(surveyId, queue);
    poll(surveyId, queue).catch((error: unknown) => {
      waiting.delete(surveyId);
      for (const { reject } of queue.waiters) reject(error);
    });
  };

  return {
    /** Resolves when the survey is seen let on. False: it is still held back after all that time, or too many wait for it already. */
    async released(surveyId: string, { timeoutMs, chars }: WaitOptions): Promise<boolean> {
      const queue = waiting.get(surveyId) ?? { waiters: new Set(), chars: 0 };
      if (queue.waiters.size >= maxWaiting || queue.chars + chars > maxWaitingChars) return false;
      return new Promise((resolve, reject) => {
        queue.waiters.add({ untilMs: performance.now() + timeoutMs, chars, resolve, reject });
        queue.chars += chars;
        if (!waiting.has(surveyId)) begin(surveyId, queue);
      });
    },
  };
}

export type FrozenSubmissions = ReturnType<typeof createFrozenSubmissions>;
