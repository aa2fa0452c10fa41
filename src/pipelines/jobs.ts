import { cpus } from 'node:os';
import { createBuriedLetters } from '../actors/buried-letters.ts';
import { newId } from '../ids.ts';
import { createDeletedSurveys } from '../stores/postgres/deleted-surveys.ts';
import { exportRequested } from '../stores/postgres/exports.ts';
import { startWhen } from '../stores/contact.ts';
import { createSessionStore } from '../stores/postgres/sessions.ts';
import { createSurveyVersions } from '../stores/postgres/survey-versions.ts';
import { createFanOut, type FanOut } from '../webhooks/fan-out.ts';
import { createListeners } from '../webhooks/listeners.ts';
import { startAi } from './ai/start.ts';
import { createBatchNews } from './batch-news.ts';
import { makeInProcess } from './exports/fork.ts';
import { createEndedSurveys } from './ended-surveys.ts';
import { createExportJobs, type ExportJobs } from './exports/jobs.ts';
import { createRushWatch } from './exports/rush.ts';
import { createKeptDefinitions } from './kept-definitions.ts';
import { createIngest } from './ingest.ts';
import { startGenerations } from './ingest/generations.ts';
import { createStoredCheck } from './ingest/stored-check.ts';
import type { JobsOptions } from './jobs-options.ts';
import { createOldVersions } from './old-versions.ts';
import { createOutbox, type Outbox, type OutboxHandler } from './outbox.ts';
import { createReconcile } from './reconcile.ts';
import { startSchedule, type ScheduledTask } from './schedule.ts';
import { createSurveyDeletion } from './survey-deletion.ts';
import { createHint, startWebhooks, webhookHandlers } from './webhooks.ts';

/**
 * Starts what runs behind the interface in this process: ingest and jobs, as its roles say; each as soon as the stores
 * that it needs are reached.
 */
export function startJobs(options: JobsOptions) {
  const stops: (() => Promise<void>)[] = [];
  const { stores, core, workers, log } = options;
  const { contacts } = stores;
  const fanOutOf = (webhooks: Parameters<typeof createFanOut>[0]['webhooks']) => createFanOut({ ...stores, webhooks, metrics: options.metrics, hint: createHint(workers, log), now: core.now, newId, log });
  const fanOut = fanOutOf(stores.webhooks);
  const ingest = () => {
    const listeners = createListeners({ webhooks: stores.webhooks, mayWait: () => stores.pressure.surplusBytes() <= 0 });
    const stopIngest = startIngest(options, fanOutOf({ listeners: listeners.of }));
    return () => (listeners.stop(), stopIngest());
  };
  // Storing needs no control plane; what is stored is handed on when that is there.
  if (options.roles.includes('ingest')) stops.push(startWhen([contacts.intake, contacts.clickhouse], ingest));
  const relay = () => together(startRelay(options, fanOut));
  if (options.roles.includes('jobs')) stops.push(startWhen([contacts.postgres, contacts.intake, contacts.jobs], relay));
  return {
    stop: together(stops),
  };
}

const together = (stops: readonly (() => Promise<void>)[]) => async (): Promise<void> => {
  await Promise.all(stops.map((stop) => stop()));
};

function startIngest({ stores, core, metrics, log, name }: JobsOptions, fanOut: FanOut): () => Promise<void> {
  const news = createBatchNews({ actors: core.actors, surveys: stores.surveys, intake: stores.intake, log });
  const { insertBatch, storedRows } = stores.responses;
  const ingest = createIngest({
    stream: stores.stream, shards: stores.shards.all, sink: { insertBatch, insertRecords: stores.idempotencyRecords.insert, missing: createStoredCheck(storedRows) }, room: stores.pressure, storedRows, isDeleted: stores.intake.isClosed, name, now: core.now, log, metrics,
    onStored: (shard, entries) => {
      stores.liveNews.publishStored(shard);
      void news.saveCounts(entries);
    },
    handOn: async (entries) => {
      await news.closeFilled(entries);
      await fanOut.committed(entries);
    },
  });
  ingest.start();
  const generations = startGenerations({ generations: stores.generations, pressure: stores.pressure, log });
  return async () => {
    await generations.stop();
    await ingest.stop();
    news.stop();
  };
}

/** What goes on without the response store, and what begins with it. */
function startRelay(options: JobsOptions, fanOut: FanOut): (() => Promise<void>)[] {
  const { stores, log } = options;
  const exportJobs = createExports(options);
  const handlers = { ...outboxHandlers(options, exportJobs), ...webhookHandlers(fanOut) };
  const outbox = createOutbox({ sql: stores.sql, handlers, log, metrics: options.metrics });
  outbox.start();
  const webhooks = startWebhooks({ ...options, ...stores, now: options.core.now, newId: () => newId() });
  const stopping = new AbortController();
  const schedule = startSchedule([...tasks(options, outbox, stopping.signal), ...webhooks.tasks], log);
  const stopReading = startWhen([stores.contacts.clickhouse], () => {
    exportJobs.start();
    const ai = startAi(options);
    const later = [...readingTasks(options, stopping.signal), ...exportTasks(exportJobs), ...ai.tasks];
    const reading = startSchedule(later, log);
    return together([reading.stop, ai.stop]);
  });
  const stopTasks = () => (stopping.abort(), schedule.stop());
  return [() => outbox.stop(), stopTasks, stopReading, () => exportJobs.stop(), () => webhooks.stop()];
}

function createExports({ stores, core, urls, settings, log, metrics }: JobsOptions): ExportJobs {
  const { postgres, clickhouse, redisJobs } = urls;
  const isRush = createRushWatch({ newest: () => Promise.all(stores.shards.all.map(stores.stream.newest)), cpus });
  return createExportJobs({
    redisUrl: redisJobs, exports: stores.exports, files: stores.exportFiles, settled: core.reading.settled, now: core.now, log, metrics,
    make: (exportId, options) => makeInProcess({ exportId, urls: { postgres, clickhouse }, dataDir: settings.dataDir, cluster: settings.clickhouseCluster, logLevel: settings.logLevel }, { ...options, isRush }),
    tell: stores.liveNews.publishJobProgress,
  });
}

const exportTasks = (jobs: ExportJobs): ScheduledTask[] => [
  { name: 'put lost exports back in line', everyMs: 30_000, run: jobs.recover },
  { name: 'end the time of old export files', everyMs: 60_000, run: jobs.tidy },
];

const surveyIdOf = (payload: Record<string, unknown>): string => String(payload['surveyId']);

/** Who must hear of which event. */
function outboxHandlers({ stores, core }: JobsOptions, exportJobs: ExportJobs): Record<string, OutboxHandler[]> {
  const eraseSurvey = createSurveyDeletion({ stores, core, exportJobs });
  return {
    // Usually the intake knows already; after a crash between commit and announcement it learns it here.
    'survey.changed': [
      async ({ payload }) => {
        const held = await core.actors.sync(surveyIdOf(payload));
        if (!held) return;
        await core.actors.announce(held.survey);
        await core.actors.closeIfFull(held.survey);
      },
    ],
    'survey.deleted': [({ payload }) => eraseSurvey(surveyIdOf(payload))],
    [exportRequested]: [({ payload }) => exportJobs.enqueue(String(payload['exportId']))],
  };
}

const hourMs = 3_600_000;

function tasks({ stores, core, log }: JobsOptions, outbox: Pick<Outbox, 'purge' | 'measure'>, stopping: AbortSignal): ScheduledTask[] {
  return [
    { name: 'close surveys whose end has come', everyMs: 1000, run: createEndedSurveys({ ...core, ...stores, log, stopping }) },
    {
      name: 'keep definitions of open surveys', everyMs: 60_000,
      run: createKeptDefinitions({ ...stores, actors: core.actors, log, stopping }),
    },
    { name: 'hold saved counts against those of the intake', everyMs: 600_000, run: createReconcile({ ...stores, actors: core.actors, log }) },
    { name: 'forget sessions that are long over', everyMs: hourMs, run: async () => void (await createSessionStore(stores.sql).sweep()) },
    { name: 'remove what is left of surveys that were deleted long ago', everyMs: hourMs, run: async () => void (await createDeletedSurveys(stores.sql, log).removeOld(core.now(), stopping)) },
    { name: 'forget delivered events', everyMs: hourMs, run: () => outbox.purge() },
    { name: 'measure the outbox', everyMs: 5000, run: () => outbox.measure() },
  ];
}

/** Tasks that ask the response store. */
function readingTasks({ stores, core, log }: JobsOptions, stopping: AbortSignal): ScheduledTask[] {
  return [
    { name: 'erase deleted responses for good', everyMs: hourMs, run: async () => void (await stores.responses.eraseDeleted()) },
    { name: 'remove findings of deleted responses and of former analyses', everyMs: hourMs, run: () => stores.findings.sweep(core.now()) },
    { name: 'delete responses whose time is over', everyMs: 600_000, run: async () => void (await core.erasing.eraseExpired()) },
    { name: 'remove uploads that nobody claimed', everyMs: 600_000, run: async () => void (await core.uploads.sweep()) },
    {
      name: 'remove wordings that nothing names', everyMs: 6 * hourMs,
      run: createOldVersions({ ...stores, ...core, versions: createSurveyVersions(stores.sql), buried: createBuriedLetters(stores), log, stopping }),
    },
  ];
}
