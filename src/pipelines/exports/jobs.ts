import { type Job, Queue, UnrecoverableError, Worker } from 'bullmq';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { ExportFiles } from '../../stores/export-files.ts';
import type { ExportStatus, ExportStore } from '../../stores/postgres/exports.ts';
import { drainDelay, senderConnection, workerConnection } from '../queue-connections.ts';
import { queues } from '../queues.ts';
import type { ExportResult, MakeFileOptions } from './run-in-child-process.ts';

export interface ExportJobsDeps {
  /** Of the instance for jobs. */
  redisUrl: string;
  exports: Pick<ExportStore, 'find' | 'fail' | 'expire' | 'listUnfinished' | 'findWithFile' | 'removeOfSurvey'>;
  files: Pick<ExportFiles, 'remove' | 'list'>;
  /** Resolves when all responses accepted by now can be read. */
  caughtUp(surveyId: string): Promise<void>;
  makeFile(exportId: string, options: MakeFileOptions): Promise<ExportResult>;
  /** For those who watch; may be lost. */
  publishProgress(job: { surveyId: string; kind: 'export'; id: string; status: ExportStatus; progress: number }): void;
  now(): number;
  log: Log;
  metrics: Pick<Metrics, 'exportEnded'>;
}

const queueName = 'exports';
const { attempts, backoffMs, concurrency, payload } = queues.exports;
/** A worker that was killed is missed this soon. */
const lockMs = 15_000;
const stalledCheckMs = 5000;
/** Older open exports should be in line; if the queue has lost them, they are put there again. */
const graceMs = 60_000;
const attemptsExhausted = 'The file could not be made; please ask for it again';

/** Makes files one after the other from what the outbox has put in line. Postgres is the record: the queue may lose or repeat anything. */
export function createExportJobs({
  redisUrl,
  exports,
  files,
  caughtUp,
  makeFile,
  publishProgress,
  now,
  log,
  metrics,
}: ExportJobsDeps) {
  const queue = new Queue(queueName, { connection: senderConnection(redisUrl) });
  const stopping = new AbortController();

  const work = async (job: Job): Promise<void> => {
    const { exportId } = payload.parse(job.data);
    const record = await exports.find(exportId);
    if (!record || (record.status !== 'PENDING' && record.status !== 'PROCESSING')) return;
    const { surveyId } = record;
    const publishStatus = (status: ExportStatus, progress: number) =>
      publishProgress({ surveyId, kind: 'export', id: exportId, status, progress });
    publishStatus('PROCESSING', 0);
    await caughtUp(surveyId);
    const report = await makeFile(exportId, {
      signal: stopping.signal,
      onProgress: (progress) => publishStatus('PROCESSING', progress),
    });
    if (report.kind === 'completed') {
      metrics.exportEnded('completed');
      publishStatus('COMPLETED', 1);
    }
    if (report.kind === 'cancelled') {
      const ended = await exports.find(exportId);
      if (ended) publishStatus(ended.status, ended.progress);
    }
    if (report.kind === 'failed') {
      await fail(exportId, report.reason);
      throw new UnrecoverableError(report.reason);
    }
    if (report.kind === 'retryable') throw new Error(report.reason);
  };

  const fail = async (exportId: string, reason: string): Promise<void> => {
    // One that failed for good at its last attempt comes here twice.
    if (await exports.fail(exportId, reason)) metrics.exportEnded('failed');
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

  const worker = new Worker(queueName, work, {
    connection: workerConnection(redisUrl),
    concurrency,
    drainDelay,
    lockDuration: lockMs,
    stalledInterval: stalledCheckMs,
    maxStalledCount: attempts,
    autorun: false,
  });
  worker.on('failed', (job, error) => {
    log.warn({ err: error, exportId: job?.data?.exportId }, 'an export job failed');
    // A worker that is stopping kills its file's process: that attempt says nothing about the export.
    if (job && !stopping.signal.aborted && job.attemptsMade >= attempts)
      fail(job.data.exportId, attemptsExhausted).catch((failure: unknown) =>
        log.warn({ err: failure }, 'a failed export could not be marked'),
      );
  });
  const logQueueError = (error: Error) => log.warn({ err: error }, 'export queue error');
  queue.on('error', logQueueError);
  worker.on('error', logQueueError);

  const enqueue = async (exportId: string): Promise<void> => {
    await queue.add(
      'export',
      { exportId },
      {
        jobId: `export-${exportId}`,
        attempts,
        backoff: { type: 'exponential', delay: backoffMs },
        removeOnComplete: true,
        removeOnFail: true,
      },
    );
  };

  return {
    enqueue,
    start: (): void =>
      void worker.run().catch((error: unknown) => log.error({ err: error }, 'the export worker ended')),
    /** Puts back in line what the queue has lost. */
    async requeueLost(): Promise<void> {
      for (const id of await exports.listUnfinished(new Date(now() - graceMs))) await enqueue(id);
    },
    /** Ends the time of old files, and removes files that nobody has a record of. */
    async removeExpired(): Promise<void> {
      for (const id of await exports.expire(new Date(now()))) await files.remove(id);
      const present = await files.list(now());
      const kept = new Set(await exports.findWithFile(present));
      for (const id of present) if (!kept.has(id)) await files.remove(id);
    },
    async removeOfSurvey(surveyId: string): Promise<void> {
      for (const id of await exports.removeOfSurvey(surveyId)) await files.remove(id);
    },
    async stop(): Promise<void> {
      stopping.abort();
      await worker.close();
      await queue.close();
    },
  };
}

export type ExportJobs = ReturnType<typeof createExportJobs>;
