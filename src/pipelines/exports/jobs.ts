import { PermanentFailure, unavailable } from '../../errors.ts';
import type { Metrics } from '../../metrics.ts';
import { withScopedSignal } from '../../platform/scoped-signal.ts';
import type { ExportFiles } from '../../stores/export-files.ts';
import { isStoreAway } from '../../stores/postgres/errors.ts';
import { type ExportStatus, type ExportStore, endedRetentionDays } from '../../stores/postgres/exports.ts';
import { fairPriority } from '../queues.ts';
import type { ScheduledTask } from '../schedule.ts';
import type { Consumer, Workers } from '../workers.ts';
import type { ExportResult, MakeFileOptions } from './run-in-child-process.ts';

export interface ExportJobsDeps {
  workers: Pick<Workers, 'add' | 'consume'>;
  exports: Pick<
    ExportStore,
    | 'find'
    | 'countOpenBefore'
    | 'fail'
    | 'expire'
    | 'removeEnded'
    | 'listUnfinished'
    | 'findWithFile'
    | 'removeOfSurvey'
  >;
  files: Pick<ExportFiles, 'remove' | 'list'>;
  /** Resolves when all responses accepted by now can be read. */
  caughtUp(surveyId: string): Promise<void>;
  makeFile(exportId: string, options: MakeFileOptions): Promise<ExportResult>;
  /** Tells live clients how far a job is; may be lost. */
  publishProgress(job: { surveyId: string; kind: 'export'; id: string; status: ExportStatus; progress: number }): void;
  now(): number;
  metrics: Pick<Metrics, 'exportEnded'>;
}

/** Exports that are unfinished for longer should have a job; if it was lost, or given up in an outage, they get another. */
const requeueAfterMs = 60_000;
/** How often a running export is looked up, so that its place is free soon after it was cancelled. */
const cancelCheckMs = 1000;
const dayMs = 86_400_000;
const attemptsExhausted = 'The file could not be made; please ask for it again';
/** For how long after its request an export waits for a store that is away. */
const outagePatienceMs = 12 * 3_600_000;
const storesAway = 'The file could not be made for hours, because a store is away; please ask for it again';

/**
 * Writes the files of exports, one after the other. PostgreSQL holds the record, so the queue may lose or repeat jobs.
 */
export function createExportJobs(deps: ExportJobsDeps) {
  const { workers, exports, files, caughtUp, makeFile, publishProgress, now, metrics } = deps;
  const stopping = new AbortController();
  let consumer: Consumer | undefined;

  /** Tells live clients what the record says; nothing where it is gone. */
  const publishRecord = async (exportId: string): Promise<void> => {
    const record = await exports.find(exportId);
    if (record)
      publishProgress({
        surveyId: record.surveyId,
        kind: 'export',
        id: exportId,
        status: record.status,
        progress: record.progress,
      });
  };

  const fail = async (exportId: string, reason: string): Promise<void> => {
    if (await exports.fail(exportId, reason)) {
      metrics.exportEnded('failed');
      await files.remove(exportId);
    }
    await publishRecord(exportId);
  };

  /**
   * Makes the file. Kills its process soon after the export was removed, or failed because a response was deleted:
   * the process itself sees that only when it saves its progress, which takes minutes in long counts.
   */
  const makeUnlessCancelled = (exportId: string, onProgress: MakeFileOptions['onProgress']): Promise<ExportResult> =>
    withScopedSignal(stopping.signal, async (signal, abort) => {
      let isCancelled = false;
      const look = async (): Promise<void> => {
        const record = await exports.find(exportId);
        if (record && record.status !== 'FAILED') return;
        isCancelled = true;
        abort('the export was cancelled');
      };
      // While PostgreSQL is away, a later look finds out.
      const looks = setInterval(() => void look().catch(() => undefined), cancelCheckMs);
      const result = await makeFile(exportId, { signal, onProgress }).finally(() => clearInterval(looks));
      if (!isCancelled || !('reason' in result) || result.kind === 'failed') return result;
      // A killed process leaves what it has written.
      await files.remove(exportId);
      return { kind: 'cancelled' };
    });

  const findOpen = async (exportId: string) => {
    const record = await exports.find(exportId);
    return record?.status === 'PENDING' || record?.status === 'PROCESSING' ? record : undefined;
  };

  const runJob = async (exportId: string): Promise<void> => {
    const record = await findOpen(exportId);
    if (!record) return;
    const { surveyId } = record;
    const publishRunning = (progress: number) =>
      publishProgress({ surveyId, kind: 'export', id: exportId, status: 'PROCESSING', progress });
    publishRunning(record.progress);
    await caughtUp(surveyId);
    const result = await makeUnlessCancelled(exportId, publishRunning);
    switch (result.kind) {
      case 'completed':
        metrics.exportEnded('completed');
        publishProgress({ surveyId, kind: 'export', id: exportId, status: 'COMPLETED', progress: 1 });
        return;
      case 'cancelled':
        return publishRecord(exportId);
      case 'failed':
        await fail(exportId, result.reason);
        throw new PermanentFailure(result.reason);
      case 'retryable':
        throw new Error(result.reason);
      case 'unavailable':
        throw unavailable(result.reason);
    }
  };

  /** Fails the export after its last attempt. While a store is away, the export stays open and is requeued. */
  const giveUp = async (exportId: string, error: unknown): Promise<void> => {
    // Stopping kills the process that writes the file: that attempt says nothing about the export.
    if (stopping.signal.aborted) return;
    const record = await findOpen(exportId);
    if (!record) return;
    if (!isStoreAway(error)) return fail(exportId, attemptsExhausted);
    if (now() - record.createdAt.getTime() > outagePatienceMs) await fail(exportId, storesAway);
  };

  const enqueue = async (exportId: string): Promise<void> => {
    const priority = fairPriority(await exports.countOpenBefore(exportId), now());
    await workers.add('exports', { exportId }, { jobId: `export-${exportId}`, priority });
  };

  const requeueLost = async (): Promise<void> => {
    for (const id of await exports.listUnfinished(new Date(now() - requeueAfterMs))) await enqueue(id);
  };

  /** Removes the files of expired exports, and files without a record. */
  const removeExpired = async (): Promise<void> => {
    for (const id of await exports.expire(new Date(now()))) await files.remove(id);
    const present = await files.list(now());
    const kept = new Set(await exports.findWithFile(present));
    for (const id of present) if (!kept.has(id)) await files.remove(id);
  };

  const tasks: ScheduledTask[] = [
    { name: 'requeue lost exports', everyMs: 30_000, run: requeueLost },
    { name: 'expire export files', everyMs: 60_000, run: removeExpired },
    {
      name: 'remove ended exports',
      everyMs: 3_600_000,
      run: () => exports.removeEnded(new Date(now() - endedRetentionDays * dayMs)),
    },
  ];

  return {
    enqueue,
    removeExpired,
    tasks,
    async removeOfSurvey(surveyId: string): Promise<void> {
      for (const id of await exports.removeOfSurvey(surveyId)) await files.remove(id);
    },
    start(): void {
      consumer = workers.consume(
        'exports',
        ({ exportId }) => runJob(exportId),
        ({ exportId }, error) => giveUp(exportId, error),
      );
    },
    /** Kills the process that writes a file: the job runs again after the next start. */
    async stop(): Promise<void> {
      stopping.abort();
      await consumer?.stop();
    },
  };
}

export type ExportJobs = ReturnType<typeof createExportJobs>;
