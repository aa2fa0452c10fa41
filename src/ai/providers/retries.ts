import { setTimeout as pause } from 'node:timers/promises';
import { Problem } from '../../errors.ts';
import type { CallPurpose } from '../usage.ts';
import type { Provider } from './provider.ts';
import { isTransient } from './provider-errors.ts';

/**
 * Repeats a call that met a breakdown of the provider, once after each of these waits, so that a job of many calls does
 * not end because of one.
 */
export function retryBreakdowns(provider: Provider, waitsSeconds: readonly number[]): Provider {
  return {
    ...provider,
    async complete(request) {
      for (let tries = 0; ; tries += 1) {
        try {
          return await provider.complete(request);
        } catch (error) {
          const waitSeconds = waitsSeconds[tries];
          if (waitSeconds === undefined || !isTransient(error)) throw error;
          await pause(waitSeconds * 1000 * (1 + Math.random() / 5), undefined, { signal: request.signal });
        }
      }
    },
  };
}

/** Then a call fails: an account without credit is refused with the same status as one at its limit. */
const maxRateLimitWaits = 20;
const defaultWaitSeconds = 30;
/**
 * Waits grow to at least this length: a limit may last for minutes although the provider asks for a moment each time.
 */
const longestOwnWaitSeconds = 30;

/**
 * Repeats a call that the provider refused because of its limits, after the time that the provider asks for, or longer
 * where it refuses again and again; `waits` receives that time. For jobs.
 */
export function waitForRateLimits(
  provider: Provider,
  waits: NonNullable<CallPurpose['waits']>,
  wait: (ms: number, signal: AbortSignal) => Promise<void> = (ms, signal) => pause(ms, undefined, { signal }),
): Provider {
  return {
    ...provider,
    async complete(request) {
      for (let refusals = 0; ; refusals += 1) {
        try {
          return await provider.complete(request);
        } catch (error) {
          const isRateLimited = error instanceof Problem && error.code === 'AI_RATE_LIMITED';
          if (!isRateLimited || refusals >= maxRateLimitWaits) throw error;
          const ownSeconds = Math.min(2 ** refusals - 1, longestOwnWaitSeconds);
          const waitMs = Math.max(error.retryAfterSeconds ?? defaultWaitSeconds, ownSeconds) * 1000;
          waits(waitMs);
          await wait(waitMs, request.signal);
        }
      }
    },
  };
}
