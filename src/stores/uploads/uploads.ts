import type { KnownUpload } from '../../domain/questions/contract.ts';
import { unavailable } from '../../errors.ts';
import { isId } from '../../platform/ids.ts';
import { createSingleFlight } from '../../platform/single-flight.ts';
import type { ClaimingResponse, UploadRecord } from '../postgres/uploads.ts';
import { createFileRemoval, type FileRemovalDeps, fileBatchSize } from './file-removal.ts';
import type { UploadStorage } from './storage.ts';
import { createUploadSweep, type UploadSweepDeps } from './sweep.ts';
import type { UploadBudget } from './upload-budget.ts';

export type UploadsDeps = UploadSweepDeps &
  FileRemovalDeps & {
    storage: UploadStorage;
    budget: UploadBudget;
  };

export type UploadToSave = Pick<UploadRecord, 'id' | 'surveyId' | 'questionId' | 'fileName'> & {
  /** Called when all bytes were read. */
  mimeType(): string;
};

/** Maximum time of a submission. An older claim belongs to an accepted response or to none. */
const maxSubmissionMs = 30_000;

/** Files of respondents: bytes in the storage, records in PostgreSQL. */
export function createUploads(deps: UploadsDeps) {
  const { rows, storage, budget, now, isResponseStored } = deps;
  const removal = createFileRemoval(deps);

  /**
   * Many submissions at once may name the uploads of one response: they share the reads that tell whether it is stored.
   * A survey's id has no blank.
   */
  const holders = createSingleFlight((holder: string) => {
    const end = holder.indexOf(' ');
    return isResponseStored(holder.slice(0, end), holder.slice(end + 1));
  });

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
      if (await holders.fresh(`${surveyId} ${by}`)) continue;
      if (now() - (since?.getTime() ?? 0) < maxSubmissionMs)
        throw unavailable('Another submission with this upload is under way', 5);
      await rows.releaseAll(surveyId, by);
      isReleased = true;
    }
    return isReleased;
  };

  return {
    /**
     * Reserves room for a file before any of it is read; `settle` gives back what was not needed. Throws RATE_LIMITED
     * or SERVICE_UNAVAILABLE.
     */
    reserveRoom: budget.reserve,

    /** Stores a file and its record. If `bytes` throws, nothing is stored. */
    async save(
      { mimeType: mimeTypeOf, ...upload }: UploadToSave,
      bytes: AsyncIterable<Uint8Array>,
    ): Promise<{ size: number; mimeType: string }> {
      const { id } = upload;
      let isReadWhole = false;
      const watched = async function* () {
        yield* bytes;
        isReadWhole = true;
      };
      await rows.begin({ ...upload, createdAt: new Date(now()) });
      const { size, sha256 } = await storage.write(id, watched()).catch(async (error: unknown) => {
        // Nothing is stored of bytes that were not read whole. Else the file may be there although the storage has
        // failed: the sweep removes it with its row.
        if (!isReadWhole) await rows.removeBegun(id).catch(() => undefined);
        throw error;
      });
      const mimeType = mimeTypeOf();
      if (await rows.complete({ id, mimeType, size, sha256, createdAt: new Date(now()) })) return { size, mimeType };
      await storage.remove(id);
      await rows.removeBegun(id);
      throw unavailable('The upload was not stored: send it again', 1);
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

    /**
     * Removes the files of a deleted response, or those of them that are given; those that cannot be removed now are by a
     * sweep.
     */
    removeOfResponse: async (response: ClaimingResponse, ids?: readonly string[]): Promise<number> =>
      removal.removeOrLeave(await rows.markOfResponse(response, ids)),
    /** Removes a survey's files; those that cannot be removed now are by a sweep. */
    async removeOfSurvey(surveyId: string): Promise<number> {
      for (let removed = 0; ; ) {
        const ids = await rows.markOfSurvey(surveyId, fileBatchSize);
        if (ids.length === 0) return removed;
        removed += await removal.removeOrLeave(ids);
      }
    },

    sweep: createUploadSweep(deps, removal),
  };
}

export type Uploads = ReturnType<typeof createUploads>;
