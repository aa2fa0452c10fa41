import type { Core } from '../../actors/core.ts';
import { deletedRevision } from '../../stores/redis/intake/intake.ts';
import type { Stores } from '../../stores/stores.ts';
import type { ExportJobs } from '../exports/jobs.ts';

export interface EraseSurveyDeps {
  stores: Pick<
    Stores,
    | 'intake'
    | 'definitions'
    | 'deliveries'
    | 'responses'
    | 'invitations'
    | 'annotations'
    | 'unsavedReplies'
    | 'surveys'
    | 'erasureLog'
  >;
  core: { reading: Pick<Core['reading'], 'caughtUp'>; deadLetters: Pick<Core['deadLetters'], 'ofSurvey' | 'remove'> };
  exportJobs: Pick<ExportJobs, 'removeOfSurvey'>;
}

const pageSize = 5000;
/** Outbox event of a deleted survey whose uploaded files are to be removed. */
export const filesDeletedEvent = 'survey.files-deleted';

/**
 * Erases everything of a deleted survey from the stores but its files, first where data comes in; can be interrupted and
 * repeated.
 */
export function createEraseSurvey({ stores, core, exportJobs }: EraseSurveyDeps) {
  /** Removes what the intake keeps so that open responses can be resumed. */
  const evictOpenResponses = async (surveyId: string): Promise<void> => {
    for (let after: string | undefined; ; ) {
      const ids = await stores.responses.findEverIncompleteIds(surveyId, { after, limit: pageSize });
      await stores.intake.removeResponseStates(surveyId, ids);
      after = ids.at(-1);
      if (ids.length < pageSize) return;
    }
  };

  const dropDeadLetters = async (surveyId: string): Promise<void> => {
    const found = await core.deadLetters.ofSurvey(surveyId);
    await stores.intake.removeResponseStates(
      surveyId,
      found.flatMap(({ row }) => row.responseId ?? []),
    );
    await core.deadLetters.remove(surveyId, found);
  };

  const eraseContent = async (surveyId: string): Promise<void> => {
    // Their ids are known by the rows and the dead letters, as long as these are there.
    await evictOpenResponses(surveyId);
    await dropDeadLetters(surveyId);
    await stores.invitations.removeOfSurvey(surveyId);
    await stores.responses.eraseSurvey(surveyId);
    await stores.annotations.removeOfSurvey(surveyId);
    await stores.unsavedReplies.removeOfSurvey(surveyId);
    // From here on the intake remembers for 48 h only that the survey was deleted.
    await stores.intake.removeSurvey(surveyId);
    await stores.erasureLog.noteSurveyErased();
    // Removing many files takes hours, and the answers of surveys that are deleted meanwhile must not wait for it.
    await stores.surveys.addEvents([{ kind: filesDeletedEvent, payload: { surveyId } }]);
  };

  return async (surveyId: string): Promise<void> => {
    await exportJobs.removeOfSurvey(surveyId);
    await stores.intake.markDeleted(surveyId);
    await stores.definitions.remove(surveyId, deletedRevision);
    await core.reading.caughtUp(surveyId);
    // The content is erased even if the waiting deliveries cannot be marked; the outbox then repeats both.
    const outcomes = await Promise.allSettled([stores.deliveries.markSurveyDeleted(surveyId), eraseContent(surveyId)]);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  };
}
