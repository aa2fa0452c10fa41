import { uploadIdIn } from '../../domain/questions/file-upload.ts';
import { isId, isServerGeneratedId } from '../../platform/ids.ts';
import type { ResponseStore, UseOfId } from '../../stores/clickhouse/responses.ts';
import type { ResponseMarkedForDeletion } from '../../stores/clickhouse/write/erasure.ts';
import type { DeadLetters } from '../dead-letters.ts';
import { responseKey } from './response-saves.ts';

/** The responses of an id that stay when others of the same id are deleted. */
export interface OtherUses {
  /** Stored uploads that only the deleted ones name; a sweep frees what else they have claimed. */
  ownUploads: string[];
  /** Whether one that stays was submitted last: an analysis reads that one, so the annotations of the id are its. */
  isLastKept: boolean;
}

export interface OtherUsesDeps {
  responses: Pick<ResponseStore, 'findUsesOfReused'>;
  deadLetters: Pick<DeadLetters, 'ofSurvey'>;
}

/**
 * Makes what finds the responses that keep the ids of responses of a survey that are being deleted, by id. An id of which
 * no response stays has no entry. A dead letter is a response that stays: it may be requeued. What its saves name matters
 * only where `haveUploads`.
 */
export function createFindOtherUses({ responses, deadLetters }: OtherUsesDeps) {
  const findInDeadLetters = async (
    surveyId: string,
    responseIds: Pick<ReadonlySet<string>, 'has'>,
  ): Promise<UseOfId[]> =>
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

  return async (
    surveyId: string,
    marked: readonly ResponseMarkedForDeletion[],
    { haveUploads }: { haveUploads: boolean },
  ): Promise<ReadonlyMap<string, OtherUses>> => {
    const lastMarked = new Map<string, number>();
    for (const { responseId, submittedAtMs } of marked)
      if (!isServerGeneratedId(responseId))
        lastMarked.set(responseId, Math.max(submittedAtMs, lastMarked.get(responseId) ?? 0));
    if (lastMarked.size === 0) return new Map();
    const stored = await responses.findUsesOfReused(surveyId, [...lastMarked.keys()]);
    const uses = haveUploads ? [...stored, ...(await findInDeadLetters(surveyId, lastMarked))] : stored;
    const ended = new Set([...marked, ...stored.filter(({ isDeleted }) => isDeleted)].map(responseKey));
    const isEnded = (use: UseOfId): boolean => ended.has(responseKey(use));
    const others = new Map<string, OtherUses>();
    for (const [responseId, lastMarkedMs] of lastMarked) {
      const ofId = uses.filter((use) => use.responseId === responseId);
      const kept = ofId.filter((use) => !isEnded(use));
      if (kept.length === 0) continue;
      const named = new Set(kept.flatMap(({ uploadIds }) => uploadIds));
      others.set(responseId, {
        ownUploads: ofId
          .filter(isEnded)
          .flatMap(({ uploadIds }) => uploadIds)
          .filter((id) => !named.has(id)),
        isLastKept: kept.some(({ submittedAtMs }) => submittedAtMs > lastMarkedMs),
      });
    }
    return others;
  };
}
