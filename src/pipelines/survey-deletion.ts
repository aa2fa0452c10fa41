import { createBuriedLetters } from '../actors/buried-letters.ts';
import type { Core } from '../actors/core.ts';
import { closedRevision } from '../stores/redis/intake.ts';
import type { Stores } from '../stores/stores.ts';
import type { ExportJobs } from './exports/jobs.ts';

export interface SurveyDeletionDeps {
  stores: Pick<Stores, 'intake' | 'definitions' | 'deliveries' | 'responses' | 'findings' | 'paidReplies' | 'stream' | 'shards'>;
  core: { reading: Pick<Core['reading'], 'settled'>; uploads: Pick<Core['uploads'], 'removeOfSurvey'> };
  exportJobs: Pick<ExportJobs, 'removeOfSurvey'>;
}

const forgottenAtOnce = 5000;

/** Erases what a deleted survey has left in the stores, from the door inwards; may be cut short and done again. */
export function createSurveyDeletion({ stores, core, exportJobs }: SurveyDeletionDeps) {
  const letters = createBuriedLetters(stores);

  /** What the intake keeps so that open responses can go on. */
  const forgetOpen = async (surveyId: string): Promise<void> => {
    for (let after: string | undefined; ; ) {
      const ids = await stores.responses.openIds(surveyId, { after, limit: forgottenAtOnce });
      await stores.intake.forgetResponses(ids);
      after = ids.at(-1);
      if (ids.length < forgottenAtOnce) return;
    }
  };

  const dropLetters = async (surveyId: string): Promise<void> => {
    const found = await letters.of(surveyId);
    await stores.intake.forgetResponses(found.flatMap(({ row }) => row.responseId ?? []));
    await letters.drop(surveyId, found);
  };

  return async (surveyId: string): Promise<void> => {
    await exportJobs.removeOfSurvey(surveyId);
    await stores.intake.close(surveyId);
    await stores.definitions.remove(surveyId, closedRevision);
    await core.reading.settled(surveyId);
    await stores.deliveries.markSurveyDeleted(surveyId);
    await core.uploads.removeOfSurvey(surveyId);
    await forgetOpen(surveyId);
    await dropLetters(surveyId);
    await stores.responses.eraseSurvey(surveyId);
    await stores.findings.removeOfSurvey(surveyId);
    await stores.paidReplies.removeOfSurvey(surveyId);
    await stores.intake.forget(surveyId);
  };
}
