import { isId } from '../../platform/ids.ts';
import type { NamedUploads, UploadRows } from '../postgres/uploads.ts';
import { begunBefore, type FileRemoval, fileBatchSize } from './file-removal.ts';
import type { UploadStorage } from './storage.ts';

export interface UploadSweepDeps {
  rows: UploadRows;
  storage: Pick<UploadStorage, 'list'>;
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

/** Age at which a claim is checked against the responses. */
const claimTtlMs = 24 * 3_600_000;
const responseBatchSize = 500;
/** Files that a sweep removes whose removal has failed before, or that were never completed. */
const maxUnfinished = 5000;
/** After so many surveys in a row that cannot be looked up, the others wait for the next sweep. */
const maxSurveyFailuresInRow = 3;
/** Ids of unknown files that the log names. */
const maxExamples = 20;

/**
 * Removes uploads unclaimed for too long, those of responses that were never accepted, and those that were begun
 * and never completed; counts files without a record. Each step goes on where another has failed; the first error
 * is thrown at the end.
 */
export function createUploadSweep(
  { rows, storage, unclaimedTtlMs, now, isResponseStored, findNamed, findNaming, log }: UploadSweepDeps,
  { removeFiles }: Pick<FileRemoval, 'removeFiles'>,
): () => Promise<void> {
  const startedAt = new Date(now());

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
    for await (const names of inBatches(storage.list(before, begunBefore(now())), fileBatchSize)) {
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

  return async () => {
    const before = new Date(now() - unclaimedTtlMs);
    let removed = 0;
    const count = (files: number): void => {
      removed += files;
    };
    const steps = [
      async () => removeFiles(await rows.findUnfinished(begunBefore(now()), maxUnfinished), count),
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
  };
}

async function* inBatches(ids: AsyncIterable<string>, size: number): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const id of ids) {
    if (batch.push(id) < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
