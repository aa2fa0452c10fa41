import { createWorkerThread } from '../../platform/worker-thread.ts';

/**
 * Anonymises the texts of one call together, so that the same thing gets the same placeholder in all of them. Rejects
 * if that fails, without quoting the texts.
 */
export type AnonymiseAll = (texts: readonly string[]) => Promise<string[]>;

/**
 * Time limit of one text, or of loading the library of names. The longest text takes about a tenth of a second on a
 * free core.
 */
const silenceTimeoutMs = 60_000;
const heap = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/**
 * Runs the anonymiser on a worker thread: it takes milliseconds an answer, and a text on which the library hangs must
 * end only the thread and the call of that text. The thread gives way to everything else once it is warm.
 */
export function createAnonymiserWorker(): AnonymiseAll {
  return createWorkerThread<readonly string[], string[]>({
    script: new URL('./anonymise-worker.js', import.meta.url),
    name: 'the anonymiser',
    heartbeatTimeoutMs: silenceTimeoutMs,
    resourceLimits: heap,
  }).run;
}
