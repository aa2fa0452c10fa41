import type { UploadRows } from '../postgres/uploads.ts';
import type { UploadStorage } from './storage.ts';

export interface FileRemovalDeps {
  rows: Pick<UploadRows, 'remove'>;
  storage: Pick<UploadStorage, 'remove'>;
  now(): number;
  log: { warn(fields: object, message: string): void };
}

export const fileBatchSize = 500;
/** After so many files in a row that cannot be removed, the storage itself is taken to be away. */
const maxFailuresInRow = 5;
/** For how long after that erasures leave their files to the sweep: a call to a storage may take seconds. */
const removalPauseMs = 60_000;

/** Uploads that were begun before this moment, and never completed, are given up. */
export const begunBefore = (nowMs: number): Date => new Date(nowMs - 24 * 3_600_000);

/** Removes uploaded files: from the storage first, then their rows. */
export function createFileRemoval({ rows, storage, now, log }: FileRemovalDeps) {
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
      if (removed.length > 0) await rows.remove(removed, begunBefore(now()));
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

  return { removeFiles, removeOrLeave };
}

export type FileRemoval = ReturnType<typeof createFileRemoval>;
