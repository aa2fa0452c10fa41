import { setTimeout as pause } from 'node:timers/promises';
import { Problem } from '../../errors.ts';
import type { CallPurpose } from '../usage.ts';
import type { Provider } from './provider.ts';

/** After so many refusals of one call it is a failure: an account without credit says the same as one in a hurry. */
const maxWaits = 20;
const defaultWaitSeconds = 30;

/** The provider for work that nobody waits for with an open request: when it is at its limit the call is made again after the time that it asks for, which is told. */
export function waitsForLimits(provider: Provider, waits: NonNullable<CallPurpose['waits']>): Provider {
  return {
    ...provider,
    async complete(request) {
      for (let refusals = 0; ; refusals += 1) {
        try {
          return await provider.complete(request);
        } catch (error) {
          if (!(error instanceof Problem) || error.code !== 'AI_RATE_LIMITED' || refusals >= maxWaits) throw error;
          const waitMs = (error.retryAfterSeconds ?? defaultWaitSeconds) * 1000;
          waits(waitMs);
          await pause(waitMs, undefined, { signal: request.signal });
        }
      }
    },
  };
}
