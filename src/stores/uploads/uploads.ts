import type { KnownUpload } from '../../domain/questions/contract.ts';
import { unavailable } from '../../errors.ts';
import { isId } from '../../platform/ids.ts';
import type { NamedUploads, UploadRecord, UploadRows } from '../postgres/uploads.ts';
import type { UploadStorage } from './storage.ts';
import type { UploadBudget } from './upload-budget.ts';

export interface UploadsDeps {
  rows: UploadRows;
  storage: UploadStorage;
  budget: UploadBudget;
  /** How long a file waits for the response that names it. */
  unclaimedTtlMs: number;
  now(): number;
  /** Whether the response was accepted; waits for responses on their way to ClickHouse. */
  isResponseStored(responseId: string): Promise<boolean>;
  /** The uploads that an accepted response names; undefined where they are not known for certain. */
  findNamed(responseId: string): Promise<NamedUploads | undefined>;
}

export type UploadToSave = Pick<UploadRecord, 'id' | 'surveyId' | 'questionId' | 'fileName'> & {
  /** Called when all bytes were read. */
  mimeType(): string;
};

/** Maximum time of a submission. An older claim belongs to an accepted response or to none. */
const maxSubmissionMs = 30_000;
/** Age at which a claim is checked against the responses. */
const claimTtlMs = 24 * 3_600_000;
const responseBatchSize = 500;
const fileBatchSize = 500;
/** After so many files in a row that cannot be removed, the storage itself is taken to be away. */
const maxFailuresInRow = 5;

/** Files of respondents: bytes in the storage, records in PostgreSQL. */
export function createUploads({
  rows,
  storage,
  budget,
  unclaimedTtlMs,
  now,
  isResponseStored,
  findNamed,
}: UploadsDeps) {
  /** A file that cannot be removed keeps no other, unless none can: its error is thrown at the end. */
  const removeFiles = async (ids: readonly string[]): Promise<number> => {
    let failure: unknown;
    let failuresInRow = 0;
    for (const id of ids) {
      if (failuresInRow === maxFailuresInRow) break;
      await storage.remove(id).then(
        () => {
          failuresInRow = 0;
        },
        (error: unknown) => {
          failure ??= error;
          failuresInRow += 1;
        },
      );
    }
    if (failure !== undefined) throw failure;
    return ids.length;
  };

  /** Releases claims of other responses that were never accepted. Returns whether any was released. */
  const releaseAbandonedClaims = async (
    surveyId: string,
    responseId: string,
    ids: readonly string[],
  ): Promise<boolean> => {
    let isReleased = false;
    const claims = (await rows.findInSurvey(surveyId, ids)).flatMap((upload) =>
      upload.responseId === null || upload.responseId === responseId
        ? []
        : [{ by: upload.responseId, since: upload.claimedAt }],
    );
    for (const { by, since } of claims) {
      if (await isResponseStored(by)) continue;
      if (now() - (since?.getTime() ?? 0) < maxSubmissionMs)
        throw unavailable('Another submission with this upload is under way', 5);
      await rows.releaseAll(by);
      isReleased = true;
    }
    return isReleased;
  };

  /**
   * Keeps the uploads that accepted responses name, frees others that they have claimed, and removes those of responses
   * that were never accepted.
   */
  const verifyClaims = async (): Promise<void> => {
    const before = new Date(now() - claimTtlMs);
    for (const responseId of await rows.findUnverifiedResponses(before, responseBatchSize)) {
      if (await isResponseStored(responseId)) await rows.settleClaims(responseId, before, await findNamed(responseId));
      else await removeFiles(await rows.removeOfResponses([responseId]));
    }
  };

  return {
    /**
     * Reserves room for a file before any of it is read; `settle` gives back what was not needed. Throws RATE_LIMITED
     * or SERVICE_UNAVAILABLE.
     */
    reserveRoom: budget.reserve,

    /** Stores a file and its record. If `bytes` throws, nothing is stored. */
    async save(upload: UploadToSave, bytes: AsyncIterable<Uint8Array>): Promise<{ size: number; mimeType: string }> {
      const { size, sha256 } = await storage.write(upload.id, bytes);
      const mimeType = upload.mimeType();
      await rows.add({ ...upload, mimeType, size, sha256, createdAt: new Date(now()) });
      return { size, mimeType };
    },

    find: rows.find,
    findSurveyId: async (id: string): Promise<string | undefined> => (await rows.find(id))?.surveyId,
    read: storage.read,

    /**
     * Claims free uploads of the survey for a response; returns those claimed. Each call is followed by an accepted
     * submission or undone by `release`. Claims of a process that died are released when another response needs the
     * upload, or by `sweep`.
     */
    async reserve(
      surveyId: string,
      responseId: string,
      uploadIds: readonly string[],
    ): Promise<ReadonlyMap<string, KnownUpload>> {
      const requestedIds = [...new Set(uploadIds)].filter(isId);
      let claimed = await rows.claim(surveyId, responseId, requestedIds);
      const missing = requestedIds.filter((id) => !claimed.some((upload) => upload.id === id));
      if (missing.length > 0) {
        const isReleased = await releaseAbandonedClaims(surveyId, responseId, missing).catch(async (error: unknown) => {
          await rows.release(
            responseId,
            claimed.map(({ id }) => id),
          );
          throw error;
        });
        if (isReleased) claimed = [...claimed, ...(await rows.claim(surveyId, responseId, missing))];
      }
      return new Map(
        claimed.map(({ id, questionId, mimeType, size }) => [id, { id, questionId, mimeType, sizeBytes: size }]),
      );
    },
    release: (responseId: string, uploadIds: readonly string[]): Promise<void> =>
      rows.release(responseId, uploadIds.filter(isId)),

    /** Removes the files of deleted responses. */
    removeOfResponses: async (responseIds: readonly string[]): Promise<number> =>
      removeFiles(await rows.removeOfResponses(responseIds)),
    removeOfSurvey: async (surveyId: string): Promise<number> => removeFiles(await rows.removeOfSurvey(surveyId)),

    /**
     * Removes uploads unclaimed for too long, those of responses that were never accepted, and files without a record.
     * Each goes on where another has failed; the first error is thrown at the end.
     */
    async sweep(): Promise<number> {
      const before = new Date(now() - unclaimedTtlMs);
      const failures: unknown[] = [];
      const goOn = (error: unknown): number => {
        failures.push(error);
        return 0;
      };
      await verifyClaims().catch(goOn);
      let removed = await rows.removeUnclaimed(before).then(removeFiles).catch(goOn);
      for await (const names of inBatches(storage.list(before), fileBatchSize)) {
        // Files not named by an id belong to others.
        const ids = names.filter(isId);
        const known = new Set(await rows.findExisting(ids));
        removed += await removeFiles(ids.filter((id) => !known.has(id))).catch(goOn);
      }
      if (failures.length > 0) throw failures[0];
      return removed;
    },
  };
}

export type Uploads = ReturnType<typeof createUploads>;

async function* inBatches(ids: AsyncIterable<string>, size: number): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const id of ids) {
    if (batch.push(id) < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
