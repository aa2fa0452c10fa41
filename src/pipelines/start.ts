import { cpus } from 'node:os';
import type { Core } from '../actors/core.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { newId } from '../platform/ids.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { Role } from '../settings/definitions.ts';
import type { Settings } from '../settings/settings.ts';
import { startWhenReady } from '../stores/connections/store-connection.ts';
import { exportRequestedEvent } from '../stores/postgres/exports.ts';
import { createLeader } from '../stores/postgres/leader.ts';
import type { Stores, StoreUrls } from '../stores/stores.ts';
import { createKeepEvents } from '../webhooks/event-backlog.ts';
import { createFanOut } from '../webhooks/fan-out.ts';
import { createReadResponseEvents } from '../webhooks/response-events.ts';
import { createSubscriptionLookup } from '../webhooks/subscription-lookup.ts';
import { startAi } from './ai/start.ts';
import { createExportJobs, type ExportJobs } from './exports/jobs.ts';
import { runInChildProcess } from './exports/run-in-child-process.ts';
import { createBatchCheck } from './ingest/batch-check.ts';
import { createBatchFollowUp } from './ingest/batch-follow-up.ts';
import { startIdempotencyRotation } from './ingest/idempotency-rotation.ts';
import { createIngest } from './ingest/ingest.ts';
import { repairDamagedParts } from './ingest/repair-damaged-parts.ts';
import { createStoreRowsOfPart } from './ingest/rows-of-part.ts';
import { createLoadDetector } from './load-detector.ts';
import { createEraseSurvey, filesDeletedEvent } from './maintenance/erase-survey.ts';
import { maintenanceTasks, responseMaintenanceTasks } from './maintenance/tasks.ts';
import { createOutbox, type OutboxHandler } from './outbox.ts';
import { type ScheduledTask, startSchedule } from './schedule.ts';
import { createEnqueueDelivery, startWebhookJobs, webhookOutboxHandlers } from './webhook-jobs.ts';
import type { Workers } from './workers.ts';

export interface PipelineOptions {
  roles: readonly Role[];
  stores: Stores;
  core: Core;
  workers: Workers;
  secrets: Secrets;
  urls: StoreUrls;
  settings: Settings;
  metrics: Metrics;
  log: Log;
  /** Unique name of this process, as an owner of shards. */
  name: string;
  /** Aborted when the process is told to stop, before DRAIN_DELAY_MS. */
  draining: AbortSignal;
  /** Resolves when the keys of this process are known to be the installation's; jobs begin no sooner. */
  keysChecked: Promise<void>;
}

type Stop = () => Promise<void>;

/**
 * Starts the background work of this process, as its roles say: ingest moves responses from the intake to ClickHouse,
 * jobs does everything else. Each part starts as soon as the stores that it needs are reached, jobs not before the keys
 * were compared: with other keys no secret can be opened, and the database may be another installation's.
 */
export function startPipelines(options: PipelineOptions): { stop: Stop } {
  const { roles, stores, keysChecked } = options;
  const { intake, clickhouse, postgres, jobs } = stores.contacts;
  const keys = { ready: keysChecked };
  const stops: Stop[] = [];
  // Storing works without PostgreSQL; webhooks and quotas follow when it is back.
  if (roles.includes('ingest')) stops.push(startWhenReady([intake, clickhouse], () => startIngest(options)));
  if (roles.includes('jobs')) stops.push(startWhenReady([postgres, intake, jobs, keys], () => startJobs(options)));
  return { stop: stopAll(stops) };
}

const stopAll = (stops: readonly Stop[]) => async (): Promise<void> => {
  await Promise.all(stops.map((stop) => stop()));
};

/** Stores responses, then closes filled surveys and keeps events for webhooks. */
function startIngest(options: PipelineOptions): Stop {
  const { stores, core, metrics, log, name } = options;
  const subscriptions = createSubscriptionLookup({
    webhooks: stores.webhooks,
    mayWait: () => stores.pressure.surplusBytes() <= 0,
  });
  const readEvents = createReadResponseEvents({
    findSubscriptions: subscriptions.forSurveys,
    collectorIdOf: core.collectorIdOf,
    now: core.now,
    log,
  });
  const keepEvents = createKeepEvents({
    responseEvents: stores.responseEvents,
    fanOut: fanOutOf(stores, options),
    log,
  });
  const followUp = createBatchFollowUp({ ...stores, actors: core.actors, log });
  const { insertBatch, storedRows, damagedParts } = stores.responses;
  const ingest = createIngest({
    stream: stores.ingestStream,
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
      await followUp.recordInvitations(entries);
      await followUp.announceReachedQuotas(entries);
      await keepEvents(await readEvents(entries));
    },
  });
  ingest.start();
  const stopping = new AbortController();
  const storeRowsOfPart = createStoreRowsOfPart({
    stream: stores.ingestStream,
    shards: stores.shards.all,
    responses: stores.responses,
    isDeleted: stores.intake.isDeleted,
    log,
    metrics,
    signal: stopping.signal,
  });
  const schedule = startSchedule(
    [
      repairDamagedParts({
        damagedParts,
        storeRowsOfPart,
        lostParts: stores.lostParts,
        log,
        metrics,
        stopping: stopping.signal,
      }),
    ],
    { log },
  );
  const rotation = startIdempotencyRotation({ generations: stores.generations, pressure: stores.pressure, log });
  return async () => {
    subscriptions.stop();
    stopping.abort();
    await Promise.all([schedule.stop(), rotation.stop(), ingest.stop()]);
    followUp.stop();
  };
}

/**
 * Runs outbox, webhooks and maintenance; exports, AI and the tasks that read responses follow when ClickHouse is
 * reached.
 */
function startJobs(options: PipelineOptions): Stop {
  const { stores, core, metrics, log, draining } = options;
  const exportJobs = createExports(options);
  const fanOut = fanOutOf(stores.sending, options);
  const outbox = createOutbox({
    sql: stores.sql,
    handlers: { ...outboxHandlers(options, exportJobs), ...webhookOutboxHandlers(fanOut) },
    log,
    metrics,
  });
  outbox.start();
  const webhooks = startWebhookJobs({
    ...options,
    ...stores.sending,
    fanOut,
    isUnderLoad: loadDetectorOf(stores),
    now: core.now,
    newId: () => newId(),
  });
  const stopping = new AbortController();
  const maintenance = { stores, core, metrics, log, stopping: stopping.signal };
  const startElected = (tasks: readonly ScheduledTask[], name: string) => {
    const leader = createLeader({ sql: stores.sql, name, holder: options.name, log });
    return startSchedule(tasks, { log, leader, draining });
  };
  const schedule = startElected([...maintenanceTasks(maintenance), ...outbox.tasks, ...webhooks.tasks], 'maintenance');
  const deliverySchedule = startElected([webhooks.writeDeliveries], 'deliveries of response events');
  const stopResponseJobs = startWhenReady([stores.contacts.clickhouse], () => {
    exportJobs.start();
    const ai = startAi(options);
    const tasks = [...responseMaintenanceTasks(maintenance), ...exportJobs.tasks, ...ai.tasks];
    const responseSchedule = startElected(tasks, 'maintenance of responses');
    return stopAll([responseSchedule.stop, exportJobs.stop, ai.stop]);
  });
  return async () => {
    stopping.abort();
    await stopAll([outbox.stop, schedule.stop, deliverySchedule.stop, stopResponseJobs, webhooks.stop])();
  };
}

const fanOutOf = (
  { webhooks, deliveries }: Pick<Stores, 'webhooks' | 'deliveries'>,
  { core, workers, metrics, log }: PipelineOptions,
) =>
  createFanOut({
    webhooks,
    deliveries,
    metrics,
    enqueueDelivery: createEnqueueDelivery(workers, log),
    now: core.now,
    newId,
  });

const loadDetectorOf = ({ shards, stream }: Stores) =>
  createLoadDetector({ newest: () => Promise.all(shards.all.map(stream.newestId)), cpus });

function createExports({ workers, stores, core, urls, settings, metrics }: PipelineOptions): ExportJobs {
  const { postgres, clickhouse } = urls;
  return createExportJobs({
    workers,
    exports: stores.exports,
    files: stores.exportFiles,
    caughtUp: core.reading.caughtUp,
    now: core.now,
    metrics,
    makeFile: (exportId, options) =>
      runInChildProcess(
        {
          exportId,
          urls: { postgres, clickhouse },
          dataDir: settings.dataDir,
          diskReservePercent: settings.uploadLimits.diskReservePercent,
          cluster: settings.clickhouseCluster,
          logLevel: settings.logLevel,
        },
        { ...options, isUnderLoad: loadDetectorOf(stores) },
      ),
    publishProgress: stores.liveNotifications.publishJobProgress,
  });
}

/** What follows each kind of outbox event; events for webhooks are handled by `webhookOutboxHandlers`. */
function outboxHandlers({ stores, core }: PipelineOptions, exportJobs: ExportJobs): Record<string, OutboxHandler[]> {
  const eraseSurvey = createEraseSurvey({ stores, core, exportJobs });
  const surveyIdOf = (payload: Record<string, unknown>): string => String(payload['surveyId']);
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
    [filesDeletedEvent]: [async ({ payload }) => void (await core.uploads.removeOfSurvey(surveyIdOf(payload)))],
    [exportRequestedEvent]: [({ payload }) => exportJobs.enqueue(String(payload['exportId']))],
  };
}
