import type { KnownUpload } from '../../domain/questions/contract.ts';
import { unavailable } from '../../errors.ts';
import { isId } from '../../platform/ids.ts';
import { createSingleFlight } from '../../platform/single-flight.ts';
import type { ClaimingResponse, NamedUploads, UploadRecord, UploadRows } from '../postgres/uploads.ts';
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
  isResponseStored(surveyId: string, responseId: string): Promise<boolean>;
  /** The uploads that an accepted response names; undefined where they are not known for certain. */
  findNamed(surveyId: string, responseId: string): Promise<NamedUploads | undefined>;
  /** The responses that name these uploads in any of their saves; they may be deleted, and a pair may occur twice. */
  findNaming(surveyId: string, uploadIds: readonly string[]): Promise<NamingResponses>;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

export type NamingResponses = readonly { uploadId: string; responseId: string }[];

export type UploadToSave = Pick<UploadRecord, 'id' | 'surveyId' | 'questionId' | 'fileName'> & {
  /** Called when all bytes were read. */
  mimeType(): string;
};

/** Maximum time of a submission. An older claim belongs to an accepted response or to none. */
const maxSubmissionMs = 30_000;
/** Age at which a claim is checked against the responses, and an upload that was never completed is removed. */
const claimTtlMs = 24 * 3_600_000;
const responseBatchSize = 500;
const fileBatchSize = 500;
/** Files that a sweep removes whose removal has failed before, or that were never completed. */
const maxUnfinished = 5000;
/** After so many files in a row that cannot be removed, the storage itself is taken to be away. */
const maxFailuresInRow = 5;
/** For how long after that erasures leave their files to the sweep: a call to a storage may take seconds. */
const removalPauseMs = 60_000;
/** After so many surveys in a row that cannot be looked up, the others wait for the next sweep. */
const maxSurveyFailuresInRow = 3;
/** Ids of unknown files that the log names. */
const maxExamples = 20;

/** Files of respondents: bytes in the storage, records in PostgreSQL. */
export function createUploads({
  rows,
  storage,
  budget,
  unclaimedTtlMs,
  now,
  isResponseStored,
  findNamed,
  findNaming,
  log,
}: UploadsDeps) {
  const startedAt = new Date(now());

  /** Uploads that were begun before this moment, and never completed, are given up. */
  const begunBefore = (): Date => new Date(now() - claimTtlMs);

  /**
   * Removes files, and then their rows, which were marked for it: what is not removed now is by a later sweep. A file
   * that cannot be removed keeps no other, unless several in a row cannot: the first error is thrown at the end.
   * Calls may share `failures`.
   */
  const removeFiles = async (
    ids: readonly string[],
    count: (removed: number) => void,
    failures = { inRow: 0 },
  ): Promise<void> => {
    let failure: unknown;
    for (let from = 0; from < ids.length && failures.inRow < maxFailuresInRow; from += fileBatchSize) {
      const removed: string[] = [];
      for (const id of ids.slice(from, from + fileBatchSize)) {
        if (failures.inRow >= maxFailuresInRow) break;
        await storage.remove(id).then(
          () => {
            removed.push(id);
            failures.inRow = 0;
          },
          (error: unknown) => {
            failure ??= error;
            failures.inRow += 1;
          },
        );
      }
      if (removed.length > 0) await rows.remove(removed, begunBefore());
      count(removed.length);
    }
    if (failure !== undefined) throw failure;
  };

  let removesFromMs = 0;
  /** Shared by all erasures, as most of them have one file. */
  const erasureFailures = { inRow: 0 };
  /**
   * Removes files of what is erased, and leaves those that cannot be removed to the sweep: a storage that is away must
   * not hold back the erasure of answers. Returns how many it removed.
   */
  const removeOrLeave = async (ids: readonly string[]): Promise<number> => {
    let removed = 0;
    if (now() < removesFromMs) return removed;
    try {
      const count = (files: number): void => {
        removed += files;
      };
      await removeFiles(ids, count, erasureFailures);
    } catch (error) {
      if (now() >= removesFromMs)
        log.warn({ err: error }, 'uploaded files of what was erased, or their rows, remain: a sweep removes them');
      if (erasureFailures.inRow >= maxFailuresInRow) {
        removesFromMs = now() + removalPauseMs;
        // The first file after the pause tells whether the storage is back.
        erasureFailures.inRow = maxFailuresInRow - 1;
      }
    }
    return removed;
  };

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

  /**
   * Keeps the uploads that accepted responses name, frees others that they have claimed, and removes those of responses
   * that were never accepted.
   */
  const verifyClaims = async (count: (removed: number) => void): Promise<void> => {
    const before = new Date(now() - claimTtlMs);
    for (const response of await rows.findUnverifiedResponses(before, responseBatchSize)) {
      const { surveyId, responseId } = response;
      if (await isResponseStored(surveyId, responseId))
        await rows.settleClaims(response, before, await findNamed(surveyId, responseId));
      else await removeFiles(await rows.markOfResponse(response), count);
    }
  };

  /**
   * Makes what tells whether an accepted response of a survey names an upload, or may: not all of its saves can be read.
   */
  const createMayName = (surveyId: string) => {
    const known = new Map<string, Promise<'none' | 'any' | ReadonlySet<string>>>();
    const namedBy = async (responseId: string) => {
      if (!(await isResponseStored(surveyId, responseId))) return 'none';
      const named = await findNamed(surveyId, responseId);
      return named ? new Set(named.ids) : 'any';
    };
    return async (responseId: string, uploadId: string): Promise<boolean> => {
      const found = known.get(responseId) ?? namedBy(responseId);
      known.set(responseId, found);
      const named = await found;
      return named === 'any' || (named !== 'none' && named.has(uploadId));
    };
  };

  /**
   * Claims uploads again that an accepted response names although their rows are unclaimed, as in a PostgreSQL that was
   * restored to a moment before the claim. A restore needs a stop, so only uploads older than this process are looked
   * up. Returns the surveys whose uploads could not be looked up, with the first error.
   */
  const reclaimNamed = async (before: Date): Promise<{ unknown: string[]; failure: unknown }> => {
    const bySurvey = new Map<string, string[]>();
    for (const { id, surveyId } of await rows.findUnclaimed(before, startedAt)) {
      const ids = bySurvey.get(surveyId);
      if (ids) ids.push(id);
      else bySurvey.set(surveyId, [id]);
    }
    const reclaimed = new Set<string>();
    const unknown: string[] = [];
    let failure: unknown;
    let failuresInRow = 0;
    const reclaimIn = async (surveyId: string, ids: readonly string[]): Promise<void> => {
      const mayName = createMayName(surveyId);
      for (let from = 0; from < ids.length; from += fileBatchSize)
        for (const { uploadId, responseId } of await findNaming(surveyId, ids.slice(from, from + fileBatchSize))) {
          if (reclaimed.has(uploadId) || !(await mayName(responseId, uploadId))) continue;
          if ((await rows.claim(surveyId, responseId, [uploadId])).length > 0) reclaimed.add(uploadId);
        }
    };
    for (const [surveyId, ids] of bySurvey) {
      // A store that is away would fail all of them, each after its time limit.
      if (failuresInRow < maxSurveyFailuresInRow)
        try {
          await reclaimIn(surveyId, ids);
          failuresInRow = 0;
          continue;
        } catch (error) {
          failure ??= error;
          failuresInRow += 1;
        }
      unknown.push(surveyId);
    }
    if (reclaimed.size > 0)
      log.warn(
        { claimed: reclaimed.size },
        'uploaded files that responses name were unclaimed, as after a restore: they are kept',
      );
    return { unknown, failure };
  };

  let unknownFiles = 0;
  /**
   * Counts files without a row, and says it where the number has changed. They are never removed: they may belong to
   * another installation, or to responses that a restored PostgreSQL does not know.
   */
  const countUnknownFiles = async (before: Date): Promise<void> => {
    let files = 0;
    const examples: string[] = [];
    for await (const names of inBatches(storage.list(before, begunBefore()), fileBatchSize)) {
      // Files not named by an id belong to others.
      const ids = names.filter(isId);
      const known = new Set(await rows.findExisting(ids));
      const unknown = ids.filter((id) => !known.has(id));
      files += unknown.length;
      examples.push(...unknown.slice(0, maxExamples - examples.length));
    }
    if (files > 0 && files !== unknownFiles)
      log.warn(
        { files, examples },
        'the storage of uploads holds files that have no row in this database: they are kept',
      );
    unknownFiles = files;
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
      removeOrLeave(await rows.markOfResponse(response, ids)),
    /** Removes a survey's files; those that cannot be removed now are by a sweep. */
    async removeOfSurvey(surveyId: string): Promise<number> {
      for (let removed = 0; ; ) {
        const ids = await rows.markOfSurvey(surveyId, fileBatchSize);
        if (ids.length === 0) return removed;
        removed += await removeOrLeave(ids);
      }
    },

    /**
     * Removes uploads unclaimed for too long, those of responses that were never accepted, and those that were begun
     * and never completed; counts files without a record. Each step goes on where another has failed; the first error
     * is thrown at the end.
     */
    async sweep(): Promise<void> {
      const before = new Date(now() - unclaimedTtlMs);
      let removed = 0;
      const count = (files: number): void => {
        removed += files;
      };
      const steps = [
        async () => removeFiles(await rows.findUnfinished(begunBefore(), maxUnfinished), count),
        () => verifyClaims(count),
        async () => {
          const { unknown, failure } = await reclaimNamed(before);
          await removeFiles(await rows.markUnclaimed(before, unknown), count);
          if (failure !== undefined) throw failure;
        },
        () => countUnknownFiles(before),
      ];
      const failures: unknown[] = [];
      for (const step of steps)
        try {
          await step();
        } catch (error) {
          failures.push(error);
        }
      if (removed > 0) log.info({ removed }, 'uploaded files that no accepted response names were removed');
      if (failures.length > 0) throw failures[0];
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
