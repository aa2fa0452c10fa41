import { isCompleteOutcome } from '../domain/outcome.ts';
import { uploadIdIn } from '../domain/questions/file-upload.ts';
import { isId } from '../platform/ids.ts';
import type { ResponseStore } from '../stores/clickhouse/responses.ts';
import type { NamedUploads } from '../stores/postgres/uploads.ts';
import type { Intake } from '../stores/redis/intake/intake.ts';
import type { NamingResponses } from '../stores/uploads/sweep.ts';
import type { ConsistentReads } from './consistent-reads.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { SavedResponse } from './submissions/saved-response.ts';

export interface NamedUploadsDeps {
  responses: Pick<ResponseStore, 'findAll'>;
  deadLetters: Pick<DeadLetters, 'ofResponse'>;
  reading: Pick<ConsistentReads, 'allCaughtUp'>;
  intake: Pick<Intake, 'state'>;
}

/**
 * Finds the responses that name uploads of a survey in any of their saves, stored ones and dead letters. They may have
 * been deleted since, or name other uploads by now.
 */
export function createFindNaming({
  responses,
  deadLetters,
  reading,
}: {
  responses: Pick<ResponseStore, 'findNamingUploads'>;
  deadLetters: Pick<DeadLetters, 'ofSurvey'>;
  reading: Pick<ConsistentReads, 'allCaughtUp'>;
}) {
  return async (surveyId: string, uploadIds: readonly string[]): Promise<NamingResponses> => {
    const wanted = new Set(uploadIds);
    const inDeadLetters = async (): Promise<[string, string][]> =>
      (await deadLetters.ofSurvey(surveyId))
        .flatMap(({ row: { responseId, answers } }) =>
          responseId === null
            ? []
            : (answers?.texts ?? []).map((text): [string, string] => [uploadIdIn(text), responseId]),
        )
        .filter(([uploadId]) => wanted.has(uploadId));
    // Twice: a row on its way may become a dead letter meanwhile, and a dead letter may be requeued.
    const before = await inDeadLetters();
    await reading.allCaughtUp();
    const stored = (await responses.findNamingUploads(surveyId, uploadIds)).flatMap(([uploadId, responseIds]) =>
      responseIds.map((responseId): [string, string] => [uploadId, responseId]),
    );
    return [...before, ...stored, ...(await inDeadLetters())].map(([uploadId, responseId]) => ({
      uploadId,
      responseId,
    }));
  };
}

/** A save of a response; lists of saves hold undefined for one that cannot be read. */
interface Save {
  version: number;
  isComplete: boolean;
  texts: readonly string[];
}

/**
 * Finds the uploads that an accepted response names: in what is stored of it, in its dead letters, which may be
 * requeued, and in the saved state from which it is continued. Undefined where one of them cannot be read, or where the
 * intake knows a later save than was found. Throws SERVICE_UNAVAILABLE while ingest is behind.
 */
export function createFindNamedUploads({ responses, deadLetters, reading, intake }: NamedUploadsDeps) {
  const storedSaves = async (surveyId: string, responseId: string): Promise<Save[]> =>
    (await responses.findAll(responseId, surveyId)).map(({ version, outcome, row }) => ({
      version,
      isComplete: isCompleteOutcome(outcome),
      texts: row.texts,
    }));
  const deadLetterSaves = async (surveyId: string, responseId: string): Promise<(Save | undefined)[]> =>
    (await deadLetters.ofResponse(surveyId, responseId)).map(
      ({ row: { head, answers } }) =>
        head && answers && { version: head.version, isComplete: isCompleteOutcome(head.outcome), texts: answers.texts },
    );

  return async (surveyId: string, responseId: string): Promise<NamedUploads | undefined> => {
    const ofId = await intake.state(responseId);
    // That of a response which has the same id in another survey says nothing of this one.
    const state = ofId?.surveyId === surveyId ? ofId : undefined;
    const found: (Save | undefined)[] = [];
    // Both places twice: a dead letter may be requeued at this moment, and may become a dead letter again.
    for (let pass = 0; pass < 2; pass += 1) {
      found.push(...(await deadLetterSaves(surveyId, responseId)));
      await reading.allCaughtUp();
      found.push(...(await storedSaves(surveyId, responseId)));
    }
    const saves = found.filter((save) => save !== undefined);
    const isWhole = saves.some(({ version }) => version >= (state?.version ?? 0));
    if (saves.length < found.length || !isWhole) return undefined;
    const saved = state && state.savedState !== '' ? (JSON.parse(state.savedState) as SavedResponse).row.texts : [];
    return {
      ids: [...saves.flatMap(({ texts }) => texts), ...saved].map(uploadIdIn).filter(isId),
      isFinal: saves.every(({ isComplete }) => isComplete) && (state?.isComplete ?? true),
    };
  };
}
