import type { Core } from '../actors/core.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Role } from '../settings.ts';
import type { Stores } from '../stores/stores.ts';
import { createBatchNews } from './batch-news.ts';
import { createIngest } from './ingest.ts';
import { createOutbox, type OutboxHandler } from './outbox.ts';
import { startSchedule, type ScheduledTask } from './schedule.ts';

export interface JobsOptions {
  roles: readonly Role[];
  stores: Stores;
  core: Core;
  metrics: Metrics;
  log: Log;
  /** Names this process among all that may own a shard. */
  name: string;
}

/** Starts what runs behind the interface in this process: ingest and jobs, as its roles say. */
export function startJobs(options: JobsOptions) {
  const stops: (() => Promise<void>)[] = [];
  if (options.roles.includes('ingest')) stops.push(startIngest(options));
  if (options.roles.includes('jobs')) stops.push(...startRelay(options));
  return {
    async stop(): Promise<void> {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

function startIngest({ stores, core, metrics, log, name }: JobsOptions): () => Promise<void> {
  const news = createBatchNews({ actors: core.actors, surveys: stores.surveys, intake: stores.intake, log });
  const ingest = createIngest({
    stream: stores.stream, shards: stores.shards.all, sink: stores.responses, name, now: core.now, log, metrics,
    beforeAck: (entries) => news.closeFilled(entries),
    afterAck: (_shard, entries) => news.saveCounts(entries),
  });
  ingest.start();
  return () => ingest.stop();
}

function startRelay(options: JobsOptions): (() => Promise<void>)[] {
  const outbox = createOutbox({ sql: options.stores.sql, handlers: outboxHandlers(options), log: options.log });
  outbox.start();
  const schedule = startSchedule(tasks(options, () => outbox.purge()), options.log);
  return [() => outbox.stop(), () => schedule.stop()];
}

const surveyIdOf = (payload: Record<string, unknown>): string => String(payload['surveyId']);

/** Who must hear of which event. */
function outboxHandlers({ stores, core }: JobsOptions): Record<string, OutboxHandler[]> {
  return {
    // Usually the intake knows already; after a crash between commit and announcement it learns it here.
    'survey.changed': [
      async ({ payload }) => {
        const held = await core.actors.sync(surveyIdOf(payload));
        if (held) await core.actors.announce(held.survey);
      },
    ],
    'survey.deleted': [
      async ({ payload }) => {
        const surveyId = surveyIdOf(payload);
        await stores.intake.close(surveyId);
        await core.reading.settled(surveyId);
        await stores.responses.eraseSurvey(surveyId);
        await stores.intake.forget(surveyId);
      },
    ],
  };
}

const hourMs = 3_600_000;

function tasks({ stores, core }: JobsOptions, purgeOutbox: () => Promise<void>): ScheduledTask[] {
  return [
    {
      name: 'close surveys whose end has come', everyMs: 1000,
      run: async () => {
        for (const surveyId of await stores.surveys.due(new Date(core.now()))) await core.actors.timeCame(surveyId);
      },
    },
    { name: 'erase deleted responses for good', everyMs: hourMs, run: async () => void (await stores.responses.eraseDeleted()) },
    { name: 'forget delivered events', everyMs: hourMs, run: purgeOutbox },
  ];
}
