import { defaultCollectorCode } from '../../domain/collectors/collector.ts';
import { encodeTombstone } from '../../domain/response-row.ts';
import type { AnnotationStore } from '../../stores/annotations.ts';
import type { ResponseCode, ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { ResponseMarkedForDeletion } from '../../stores/clickhouse/write/erasure.ts';
import type { UploadRows } from '../../stores/postgres/uploads.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import type { Uploads } from '../../stores/uploads/uploads.ts';
import type { DeadLetters, ParsedDeadLetter } from '../dead-letters.ts';
import { headsOf, responseKey, uniqueResponses } from './response-saves.ts';
import { createFindUploadsToRemove, type UploadsToRemoveDeps } from './uploads-to-remove.ts';

export interface ResponseRemovalDeps extends UploadsToRemoveDeps {
  intake: Pick<Intake, 'deleteResponse'>;
  responses: Pick<ResponseStore, 'findUses' | 'wasDeleted'>;
  uploads: Pick<Uploads, 'removeOfResponse'>;
  uploadRows: Pick<UploadRows, 'markUnverified'>;
  annotations: Pick<AnnotationStore, 'removeOfResponses'>;
  /** Accepted rows that could not be stored; they may be requeued. */
  deadLetters: DeadLetters;
  /** Codes of the collectors by which responses of a survey came; without it, all by the default one. */
  collectorsOf?(surveyId: string, responseIds: readonly string[]): Promise<readonly ResponseCode[]>;
  now(): number;
}

const concurrency = 25;

/** Removes responses with all that hangs on them, by tombstones that the response store follows. */
export function createResponseRemoval(deps: ResponseRemovalDeps) {
  const findUploadsToRemove = createFindUploadsToRemove(deps);

  /**
   * Removes the annotations and uploads of a response, of the uploads only these if they are given. Those of another
   * survey's response with the same id stay.
   */
  const removeDependents = async (
    surveyId: string,
    responseId: string,
    uploadIds?: readonly string[],
  ): Promise<void> => {
    await deps.uploads.removeOfResponse({ surveyId, responseId }, uploadIds);
    await deps.annotations.removeOfResponses(surveyId, [responseId]);
  };

  /** Deletes one response with its uploads and annotations. False: it was deleted before. */
  const remove = async (
    { surveyId, responseId, submittedAtMs, outcome, lastSavedAtMs }: ResponseMarkedForDeletion,
    collector = defaultCollectorCode,
    uploadIds?: readonly string[],
  ): Promise<boolean> => {
    const isRemoved = await deps.intake.deleteResponse({
      surveyId,
      responseId,
      submittedAtMs,
      outcome,
      lastSavedAtMs,
      collector,
      row: encodeTombstone(surveyId, responseId, submittedAtMs, deps.now()),
    });
    await removeDependents(surveyId, responseId, uploadIds);
    return isRemoved;
  };

  /** All are of one survey. */
  const removeAll = async (marked: readonly ResponseMarkedForDeletion[]): Promise<number> => {
    const surveyId = marked[0]?.surveyId;
    if (surveyId === undefined) return 0;
    const responseIds = [...new Set(marked.map(({ responseId }) => responseId))];
    const codes = (await deps.collectorsOf?.(surveyId, responseIds)) ?? [];
    const collectors = new Map(codes.map((found) => [responseKey(found), found.code]));
    // If this process dies after this, the periodic task for uploads checks whether the responses still exist.
    const claims = await deps.uploadRows.markUnverified(surveyId, responseIds);
    const uploadsToRemove = await findUploadsToRemove(surveyId, marked, claims);
    let removed = 0;
    for (let from = 0; from < marked.length; from += concurrency) {
      const batch = marked.slice(from, from + concurrency);
      const results = await Promise.all(
        batch.map((response) =>
          remove(response, collectors.get(responseKey(response)), uploadsToRemove(response.responseId)),
        ),
      );
      removed += results.filter(Boolean).length;
    }
    return removed;
  };

  /** The responses of the dead letters, without those that were deleted before. */
  const responsesOf = async (deadLetters: readonly ParsedDeadLetter[]): Promise<ResponseMarkedForDeletion[]> => {
    const remaining: ResponseMarkedForDeletion[] = [];
    for (const response of uniqueResponses(headsOf(deadLetters)))
      if (!(await deps.responses.wasDeleted(response.responseId, response.submittedAtMs))) remaining.push(response);
    return remaining;
  };

  /** Erases dead letters and their responses. The tombstones also delete a row that is requeued at this moment. */
  const eraseDeadLetters = async (surveyId: string, marked: readonly ParsedDeadLetter[]): Promise<number> => {
    // The uploads of an unreadable row are unknown, so the periodic task for uploads must check its response id.
    const unread = marked.flatMap(({ row: { head, responseId } }) => (head || responseId === null ? [] : [responseId]));
    if (unread.length > 0) await deps.uploadRows.markUnverified(surveyId, unread);
    const count = await removeAll(await responsesOf(marked));
    await deps.deadLetters.remove(surveyId, marked);
    return count;
  };

  return { removeAll, removeDependents, responsesOf, eraseDeadLetters };
}

export type ResponseRemoval = ReturnType<typeof createResponseRemoval>;
