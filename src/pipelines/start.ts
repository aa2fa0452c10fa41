import { cpus } from 'node:os';
import { createDeadLetters } from '../actors/dead-letters.ts';
import { newId } from '../platform/ids.ts';
import { startWhenReady } from '../stores/connections/store-connection.ts';
import { exportRequestedEvent } from '../stores/postgres/exports.ts';
import { createSessionStore } from '../stores/postgres/sessions.ts';
import { createDeletedSurveys } from '../stores/postgres/survey-retention.ts';
import { createSurveyVersions } from '../stores/postgres/survey-versions.ts';
import { createFanOut, type FanOut } from '../webhooks/fan-out.ts';
import { createSubscriptionLookup } from '../webhooks/subscription-lookup.ts';
import { startAi } from './ai/start.ts';
import { createExportJobs, type ExportJobs } from './exports/jobs.ts';
import { createLoadDetector } from './exports/load-detector.ts';
import { runInChildProcess } from './exports/run-in-child-process.ts';
import { createBatchCheck } from './ingest/batch-check.ts';
import { createBatchFollowUp } from './ingest/batch-follow-up.ts';
import { startIdempotencyRotation } from './ingest/idempotency-rotation.ts';
import { createIngest } from './ingest/ingest.ts';
import { createCloseEndedSurveys } from './maintenance/close-ended-surveys.ts';
import { createDefinitionBackfill } from './maintenance/definition-backfill.ts';
import { createEraseSurvey } from './maintenance/erase-survey.ts';
import { createReconcileCounts } from './maintenance/reconcile-counts.ts';
import { createRemoveOldVersions } from './maintenance/remove-old-versions.ts';
import type { PipelineOptions } from './options.ts';
import { createOutbox, type Outbox, type OutboxHandler } from './outbox.ts';
import { type ScheduledTask, startSchedule } from './schedule.ts';
import { createEnqueueDelivery, startWebhookJobs, webhookOutboxHandlers } from './webhook-jobs.ts';

/**
 * Starts what runs behind the interface in this process: ingest and jobs, as its roles say; each as soon as the stores
 * that it needs are reached.
 */
export function startPipelines(options: PipelineOptions) {
  const stops: (() => Promise<void>)[] = [];
  const { stores, core, workers, log } = options;
  const { contacts } = stores;
  const fanOutOf = (webhooks: Parameters<typeof createFanOut>[0]['webhooks']) =>
    createFanOut({
      ...stores,
      webhooks,
      metrics: options.metrics,
      enqueueDelivery: createEnqueueDelivery(workers, log),
      now: core.now,
      newId,
      log,
    });
  const fanOut = fanOutOf(stores.webhooks);
  const ingest = () => {
    const listeners = createSubscriptionLookup({
      webhooks: stores.webhooks,
      mayWait: () => stores.pressure.surplusBytes() <= 0,
    });
    const stopIngest = startIngest(options, fanOutOf({ findSubscriptions: listeners.forSurveys }));
    return () => (listeners.stop(), stopIngest());
  };
  // Storing needs no control plane; what is stored is handed on when that is there.
  if (options.roles.includes('ingest')) stops.push(startWhenReady([contacts.intake, contacts.clickhouse], ingest));
  const relay = () => together(startBackgroundJobs(options, fanOut));
  if (options.roles.includes('jobs'))
    stops.push(startWhenReady([contacts.postgres, contacts.intake, contacts.jobs], relay));
  return {
    stop: together(stops),
  };
}

const together = (stops: readonly (() => Promise<void>)[]) => async (): Promise<void> => {
  await Promise.all(stops.map((stop) => stop()));
};

function startIngest({ stores, core, metrics, log, name }: PipelineOptions, fanOut: FanOut): () => Promise<void> {
  const followUp = createBatchFollowUp({ actors: core.actors, surveys: stores.surveys, intake: stores.intake, log });
  const { insertBatch, storedRows } = stores.responses;
  const ingest = createIngest({
    stream: stores.stream,
    shards: stores.shards.all,
    sink: { insertBatch, insertRecords: stores.idempotencyRecords.insert, missing: createBatchCheck(storedRows) },
    memory: stores.pressure,
    storedRows,
    isDeleted: stores.intake.isDeleted,
    name,
    now: core.now,
    log,
    metrics,
    onStored: (shard, entries) => {
      stores.liveNotifications.publishStored(shard);
      void followUp.saveCounts(entries);
    },
    forward: async (entries) => {
      await followUp.closeFullSurveys(entries);
      await fanOut.publishResponses(entries);
    },
  });
  ingest.start();
  const generations = startIdempotencyRotation({ generations: stores.generations, pressure: stores.pressure, log });
  return async () => {
    await generations.stop();
    await ingest.stop();
    followUp.stop();
  };
}

/** What goes on without the response store, and what begins with it. */
function startBackgroundJobs(options: PipelineOptions, fanOut: FanOut): (() => Promise<void>)[] {
  const { stores, log } = options;
  const exportJobs = createExports(options);
  const handlers = { ...outboxHandlers(options, exportJobs), ...webhookOutboxHandlers(fanOut) };
  const outbox = createOutbox({ sql: stores.sql, handlers, log, metrics: options.metrics });
  outbox.start();
  const webhooks = startWebhookJobs({ ...options, ...stores, now: options.core.now, newId: () => newId() });
  const stopping = new AbortController();
  const schedule = startSchedule([...maintenanceTasks(options, outbox, stopping.signal), ...webhooks.tasks], log);
  const stopReading = startWhenReady([stores.contacts.clickhouse], () => {
    exportJobs.start();
    const ai = startAi(options);
    const later = [...readingTasks(options, stopping.signal), ...exportTasks(exportJobs), ...ai.tasks];
    const reading = startSchedule(later, log);
    return together([reading.stop, ai.stop]);
  });
  const stopTasks = () => (stopping.abort(), schedule.stop());
  return [() => outbox.stop(), stopTasks, stopReading, () => exportJobs.stop(), () => webhooks.stop()];
}

function createExports({ stores, core, urls, settings, log, metrics }: PipelineOptions): ExportJobs {
  const { postgres, clickhouse, redisJobs } = urls;
  const isUnderLoad = createLoadDetector({
    newest: () => Promise.all(stores.shards.all.map(stores.stream.newestId)),
    cpus,
  });
  return createExportJobs({
    redisUrl: redisJobs,
    exports: stores.exports,
    files: stores.exportFiles,
    caughtUp: core.reading.caughtUp,
    now: core.now,
    log,
    metrics,
    makeFile: (exportId, options) =>
      runInChildProcess(
        {
          exportId,
          urls: { postgres, clickhouse },
          dataDir: settings.dataDir,
          cluster: settings.clickhouseCluster,
          logLevel: settings.logLevel,
        },
        { ...options, isUnderLoad },
      ),
    publishProgress: stores.liveNotifications.publishJobProgress,
  });
}

const exportTasks = (jobs: ExportJobs): ScheduledTask[] => [
  { name: 'requeue lost exports', everyMs: 30_000, run: jobs.requeueLost },
  { name: 'expire export files', everyMs: 60_000, run: jobs.removeExpired },
];

const surveyIdOf = (payload: Record<string, unknown>): string => String(payload['surveyId']);

/** Who must hear of which event. */
function outboxHandlers({ stores, core }: PipelineOptions, exportJobs: ExportJobs): Record<string, OutboxHandler[]> {
  const eraseSurvey = createEraseSurvey({ stores, core, exportJobs });
  return {
    // Usually the intake knows already; after a crash between commit and announcement it learns it here.
    'survey.changed': [
      async ({ payload }) => {
        const cached = await core.actors.sync(surveyIdOf(payload));
        if (!cached) return;
        await core.actors.announce(cached.survey);
        await core.actors.closeIfFull(cached.survey);
      },
    ],
    'survey.deleted': [({ payload }) => eraseSurvey(surveyIdOf(payload))],
    [exportRequestedEvent]: [({ payload }) => exportJobs.enqueue(String(payload['exportId']))],
  };
}

const hourMs = 3_600_000;

function maintenanceTasks(
  { stores, core, log }: PipelineOptions,
  outbox: Pick<Outbox, 'purge' | 'measure'>,
  stopping: AbortSignal,
): ScheduledTask[] {
  return [
    {
      name: 'close surveys whose end has come',
      everyMs: 1000,
      run: createCloseEndedSurveys({ ...core, ...stores, log, stopping }),
    },
    {
      name: 'keep definitions of open surveys',
      everyMs: 60_000,
      run: createDefinitionBackfill({ ...stores, actors: core.actors, log, stopping }),
    },
    {
      name: 'reconcile response counts with the intake',
      everyMs: 600_000,
      run: createReconcileCounts({ ...stores, actors: core.actors, log }),
    },
    {
      name: 'delete expired sessions',
      everyMs: hourMs,
      run: async () => void (await createSessionStore(stores.sql).sweep()),
    },
    {
      name: 'remove what is left of surveys that were deleted long ago',
      everyMs: hourMs,
      run: async () => void (await createDeletedSurveys(stores.sql, log).purge(core.now(), stopping)),
    },
    { name: 'purge delivered outbox events', everyMs: hourMs, run: () => outbox.purge() },
    { name: 'measure the outbox', everyMs: 5000, run: () => outbox.measure() },
  ];
}

/** Tasks that ask the response store. */
function readingTasks({ stores, core, log }: PipelineOptions, stopping: AbortSignal): ScheduledTask[] {
  return [
    {
      name: 'erase deleted responses for good',
      everyMs: hourMs,
      run: async () => void (await stores.responses.eraseDeleted()),
    },
    {
      name: 'remove AI annotations of deleted responses and former analyses',
      everyMs: hourMs,
      run: () => stores.annotations.sweep(core.now()),
    },
    {
      name: 'delete responses past their retention',
      everyMs: 600_000,
      run: async () => void (await core.erasure.eraseExpired()),
    },
    {
      name: 'remove uploads that nobody claimed',
      everyMs: 600_000,
      run: async () => void (await core.uploads.sweep()),
    },
    {
      name: 'remove survey versions that nothing refers to',
      everyMs: 6 * hourMs,
      run: createRemoveOldVersions({
        ...stores,
        ...core,
        versions: createSurveyVersions(stores.sql),
        deadLetters: createDeadLetters(stores),
        log,
        stopping,
      }),
    },
  ];
}
