import { setTimeout as pause } from 'node:timers/promises';
import type { Provider } from './provider.ts';
import { isTransient } from './provider-errors.ts';

/**
 * The provider for work of many calls, which must not end because one of them met a breakdown: after each of these waits such a call is
 * made again, and then it fails.
 */
export function withRetries(provider: Provider, waitsSeconds: readonly number[]): Provider {
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
