import type { Log } from '../../../log.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai.ts';

export interface ProgressDeps {
  store: Pick<AiStore, 'touch'>;
  log: Pick<Log, 'warn'>;
}

const tellEveryMs = 250;
/** Until the job has ended. */
const mostTold = 0.99;

/**
 * Adds up the shares of a survey, 0 to 1, that need nothing or nothing any more, and tells the sum some times a second. Where it cannot be told
 * the job goes on: it is told the next time.
 */
export function createProgress({ store, log }: ProgressDeps, job: SurveyJob): (share: number) => Promise<void> {
  let [done, toldAt] = [0, -Infinity];
  return async (share) => {
    done += share;
    const now = performance.now();
    if (share === 0 || now - toldAt < tellEveryMs) return;
    toldAt = now;
    // Many small shares do not add up to the last digit.
    await store.touch(job, Math.min(mostTold, Number(done.toFixed(4)))).catch((error: unknown) => log.warn({ err: error, aiJobId: job.id }, 'the progress of an AI job was not told'));
  };
}
