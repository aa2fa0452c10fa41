import { uploadIdIn } from '../../domain/questions/file-upload.ts';
import { pageOpenedAtMs } from '../../domain/submission/page-response-id.ts';
import { isId, isServerGeneratedId } from '../../platform/ids.ts';
import type { ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { ResponseMarkedForDeletion, UseOfId } from '../../stores/clickhouse/write/erasure.ts';
import type { Claim } from '../../stores/postgres/uploads.ts';
import type { ConsistentReads } from '../consistent-reads.ts';
import type { DeadLetters } from '../dead-letters.ts';
import { responseKey } from './response-saves.ts';

export interface UploadsToRemoveDeps {
  reading: Pick<ConsistentReads, 'caughtUp'>;
  responses: Pick<ResponseStore, 'findUses'>;
  deadLetters: Pick<DeadLetters, 'ofSurvey'>;
}

/** Whether the id may name several responses: those of the service and its page are looked up before they are taken. */
const mayBeUsedAgain = (responseId: string): boolean =>
  !isServerGeneratedId(responseId) && pageOpenedAtMs(responseId) === undefined;

/**
 * Makes what finds the uploads to remove when responses of a survey are deleted; its result tells them by response id.
 * Undefined: all that the id has claimed. Where the id may be used again, only these claims, without the uploads that
 * another response of the id names. A claim that is made later may be of another response: it is left to the sweep.
 */
export function createFindUploadsToRemove({ reading, responses, deadLetters }: UploadsToRemoveDeps) {
  /** A dead letter whose answers cannot be read names no upload. */
  const findInDeadLetters = async (surveyId: string, responseIds: ReadonlySet<string>): Promise<UseOfId[]> =>
    (await deadLetters.ofSurvey(surveyId)).flatMap(({ row: { head, answers } }) =>
      head && responseIds.has(head.responseId)
        ? {
            responseId: head.responseId,
            submittedAtMs: head.submittedAtMs,
            isDeleted: false,
            uploadIds: (answers?.texts ?? []).map(uploadIdIn).filter(isId),
          }
        : [],
    );

  /** The uploads that the other responses of these ids name. A dead letter is one too: it may be requeued. */
  const findNamed = async (
    surveyId: string,
    responseIds: ReadonlySet<string>,
    marked: readonly ResponseMarkedForDeletion[],
  ): Promise<Set<string>> => {
    if (responseIds.size === 0) return new Set();
    // A response that was accepted after the marked ones were read may have made some of the claims.
    await reading.caughtUp(surveyId);
    const waiting = await findInDeadLetters(surveyId, responseIds);
    const stored = await responses.findUses(surveyId, [...responseIds]);
    const ended = new Set([...marked, ...stored.filter(({ isDeleted }) => isDeleted)].map(responseKey));
    return new Set(
      [...waiting, ...stored].filter((use) => !ended.has(responseKey(use))).flatMap(({ uploadIds }) => uploadIds),
    );
  };

  return async (
    surveyId: string,
    marked: readonly ResponseMarkedForDeletion[],
    claims: readonly Claim[],
  ): Promise<(responseId: string) => string[] | undefined> => {
    const claiming = new Set(claims.map(({ responseId }) => responseId).filter(mayBeUsedAgain));
    const named = await findNamed(surveyId, claiming, marked);
    const ofId = (id: string): string[] =>
      claims
        .filter(({ responseId, uploadId }) => responseId === id && !named.has(uploadId))
        .map(({ uploadId }) => uploadId);
    return (responseId) => (mayBeUsedAgain(responseId) ? ofId(responseId) : undefined);
  };
}
