import type { Log } from '../../../log.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai/jobs.ts';

export interface ProgressDeps {
  store: Pick<AiStore, 'heartbeat'>;
  log: Pick<Log, 'warn'>;
}

const reportEveryMs = 250;
/** Until the job has ended. */
const maxReportedShare = 0.99;

/**
 * Adds up the shares of a survey, 0 to 1, that need nothing or nothing any more, and tells the sum some times a second. Where it cannot be told
 * the job goes on: it is told the next time.
 */
export function createProgressReporter({ store, log }: ProgressDeps, job: SurveyJob): (share: number) => Promise<void> {
  let [done, reportedAt] = [0, -Infinity];
  return async (share) => {
    done += share;
    const now = performance.now();
    if (share === 0 || now - reportedAt < reportEveryMs) return;
    reportedAt = now;
    // Many small shares do not add up to the last digit.
    await store
      .heartbeat(job, Math.min(maxReportedShare, Number(done.toFixed(4))))
      .catch((error: unknown) =>
        log.warn({ err: error, aiJobId: job.id }, 'publishing the progress of an AI job failed'),
      );
  };
}
