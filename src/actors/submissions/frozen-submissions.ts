import { setTimeout as pause } from 'node:timers/promises';
import type { Intake } from '../../stores/redis/intake/intake.ts';

export interface FrozenSubmissionsOptions {
  intake: Pick<Intake, 'isFrozen'>;
  /** Maximum submissions of this process that wait for one survey. */
  maxWaiting?: number;
  /** Maximum characters of their bodies together. */
  maxWaitingChars?: number;
}

export interface WaitOptions {
  timeoutMs: number;
  /** Length of the body, which is kept meanwhile. */
  chars: number;
}

interface Waiter {
  /** Deadline as of `performance.now()`. */
  untilMs: number;
  chars: number;
  resolve(isReleased: boolean): void;
  reject(error: unknown): void;
}

interface Queue {
  waiters: Set<Waiter>;
  /** Sum over all waiters. */
  chars: number;
}

const defaultMaxWaiting = 5000;
const defaultMaxWaitingChars = 32 * 1024 * 1024;
const pollMs = 25;

/**
 * Where submissions wait while their survey is frozen. The intake is polled once for each survey, however many wait,
 * because nobody publishes the end of a freeze: it ends with a saved change, a release, or the time that was set.
 */
export function createFrozenSubmissions({
  intake,
  maxWaiting = defaultMaxWaiting,
  maxWaitingChars = defaultMaxWaitingChars,
}: FrozenSubmissionsOptions) {
  const waiting = new Map<string, Queue>();

  /** Several freezes may follow each other, so each waiter also has a deadline. */
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
    /**
     * Resolves with true when the survey is released; with false after `timeoutMs`, or at once if too many wait
     * already.
     */
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
