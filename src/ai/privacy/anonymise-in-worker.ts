import { createWorkerThread } from '../../platform/worker-thread.ts';

/** Makes the texts of one call anonymous together: the same thing gets the same placeholder in all of them. Rejects where that cannot be done, without quoting them. */
export type AnonymiseAll = (texts: readonly string[]) => Promise<string[]>;

/** For one text, of which the longest takes about a tenth of a second where it has a core for itself, or for loading what finds names. */
const silenceTimeoutMs = 60_000;
const heap = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/**
 * Hides names on a thread of its own: looking for them takes milliseconds an answer, and a text that the library hangs on ends the thread and
 * the call that it is part of, not the service nor what others ask. Once it is warm it gives way to everything else that is ready.
 */
export function createAnonymiserWorker(): AnonymiseAll {
  return createWorkerThread<readonly string[], string[]>({
    script: new URL('./anonymise-worker.js', import.meta.url),
    name: 'the anonymiser',
    heartbeatTimeoutMs: silenceTimeoutMs,
    resourceLimits: heap,
  }).run;
}
