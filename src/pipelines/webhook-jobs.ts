import { type SurveyEventName, surveyEvents } from '../domain/events.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { Settings } from '../settings/settings.ts';
import type { SendingDeliveryStore } from '../stores/postgres/webhook-deliveries.ts';
import { maxRowsPerStatement } from '../stores/postgres/webhook-delivery-pages.ts';
import type { ResponseEventStore } from '../stores/postgres/webhook-response-events.ts';
import type { WebhookStore } from '../stores/postgres/webhooks.ts';
import { createDeliverer } from '../webhooks/deliver.ts';
import { createWriteDeliveries } from '../webhooks/event-backlog.ts';
import type { FanOut } from '../webhooks/fan-out.ts';
import { createPace } from '../webhooks/pace.ts';
import { startSender } from '../webhooks/sender.ts';
import type { OutboxHandler } from './outbox.ts';
import type { JobSender } from './queues.ts';
import { createPageCursor, type ScheduledTask } from './schedule.ts';
import type { Workers } from './workers.ts';

export interface WebhookJobsDeps {
  webhooks: WebhookStore;
  deliveries: SendingDeliveryStore;
  responseEvents: ResponseEventStore;
  fanOut: FanOut;
  workers: Workers;
  secrets: Secrets;
  settings: Pick<Settings, 'webhookAllowPrivate' | 'webhookLimits' | 'webhookRetryScheduleSeconds'>;
  metrics: Metrics;
  log: Log;
  /** Whether respondents need the machine. */
  isUnderLoad(): Promise<boolean>;
  now(): number;
  newId(): string;
}

/** Endpoints that a turn of the sweep wakes. */
const sweepPageSize = 1000;
/** How long attempts under way may take when the service stops. */
const stopGraceMs = 2000;
const deduplicationWindowMs = 15_000;
const logRetentionMs = 30 * 86_400_000;
/** Deliveries kept of one endpoint: at thousands of events a second, thirty days of them would fill any disk. */
const keptAtMost = 1_000_000;
const maxStatements = 200;

/**
 * Adds a delivery job for each endpoint. Jobs with the same `suffix` that wait at once become one. A job that cannot be
 * added is replaced by the sweep within about a second.
 */
export function createEnqueueDelivery(jobs: JobSender, log: Log) {
  return (webhookIds: readonly string[], delayMs: number, suffix = ''): void => {
    for (const webhookId of webhookIds)
      jobs
        .add('webhooks', { webhookId }, { once: webhookId + suffix, delayMs })
        .catch((error: unknown) =>
          log.debug({ err: error, webhookId }, 'enqueueing a delivery job failed, the sweeper will find the endpoint'),
        );
  };
}

/** The field of an outbox event that says when it happened. */
const timeFields: Readonly<Record<SurveyEventName, string>> = {
  'survey.published': 'publishedAt',
  'quota.reached': 'reachedAt',
};

/** Publishes outbox events to endpoints; the row's id names the cause. */
export function webhookOutboxHandlers(fanOut: Pick<FanOut, 'publishEvent'>): Record<string, OutboxHandler[]> {
  const publish =
    (event: SurveyEventName): OutboxHandler =>
    ({ id, payload }) =>
      fanOut.publishEvent({
        event,
        key: `outbox:${id}`,
        surveyId: String(payload['surveyId']),
        occurredAt: new Date(String(payload[timeFields[event]])),
        data: payload,
      });
  return Object.fromEntries(surveyEvents.map((event) => [event, [publish(event)]]));
}

/**
 * Delivers webhooks in this process. PostgreSQL holds the deliveries and the lease of each endpoint; a BullMQ job only
 * wakes an endpoint. The sweep finds endpoints whose job was lost and those with a retry that is due.
 */
export function startWebhookJobs(deps: WebhookJobsDeps) {
  const { webhooks, deliveries, workers, metrics, log, now } = deps;
  const limits = deps.settings.webhookLimits;
  const pace = createPace({ leastPerSecond: limits.busyRequestsPerSecond, isUnderLoad: deps.isUnderLoad });
  let isStopping = false;
  const deliverer = createDeliverer({
    webhooks,
    deliveries,
    ...startSender({ isPrivateAllowed: deps.settings.webhookAllowPrivate }),
    requestLimits: {
      host: { connections: limits.hostConnections, requestsPerSecond: limits.hostRequestsPerSecond },
      pace,
    },
    secrets: deps.secrets,
    scheduleSeconds: deps.settings.webhookRetryScheduleSeconds,
    metrics,
    log,
    now,
    random: Math.random,
    newId: deps.newId,
  });
  const enqueueDelivery = createEnqueueDelivery(workers, log);
  const consumer = workers.consume('webhooks', async ({ webhookId }) => {
    if ((await deliverer.drain(webhookId)) === 'more') enqueueDelivery([webhookId], 0);
  });

  const endpointsWithWork = createPageCursor((after, limit) => webhooks.findDue(new Date(now()), limit, after), {
    limit: sweepPageSize,
    cursorOf: (id) => id,
  });
  const sweep = async (): Promise<void> => {
    // A job whose process died blocks its name until BullMQ finds it stalled, so the sweep uses a new name every 15 s.
    const suffix = `.${Math.floor(now() / deduplicationWindowMs)}`;
    enqueueDelivery(await endpointsWithWork(), 0, suffix);
  };
  const measure = async (): Promise<void> => {
    const { oldestPending, disabled } = await webhooks.stats();
    const oldestPendingSeconds = oldestPending === null ? 0 : Math.max(0, (now() - oldestPending.getTime()) / 1000);
    metrics.webhookState({ oldestPendingSeconds, disabled });
  };
  const expire = () => repeatWhileFull(() => deliveries.expire(new Date(now())));
  const purgeOld = () => repeatWhileFull(() => deliveries.purgeOld(new Date(now() - logRetentionMs)));
  const writeDeliveries: ScheduledTask = {
    name: 'write deliveries of response events',
    everyMs: 200,
    run: createWriteDeliveries({ ...deps, pace, isStopping: () => isStopping }),
  };
  const tasks: ScheduledTask[] = [
    { name: 'enqueue endpoints with due deliveries', everyMs: 1000, run: sweep },
    { name: 'measure webhooks', everyMs: 5000, isOfEachProcess: true, run: measure },
    {
      name: 'disable endpoints of deleted surveys',
      everyMs: 60_000,
      run: () => webhooks.disableOrphans(new Date(now())),
    },
    { name: 'expire webhook deliveries', everyMs: 30_000, run: expire },
    { name: 'purge webhook deliveries', everyMs: 60_000, run: purgeOld },
    // Counting takes a while where there are many.
    {
      name: 'purge surplus webhook deliveries',
      everyMs: 600_000,
      run: () => deliveries.purgeSurplus(keptAtMost),
    },
  ];

  return {
    tasks,
    /** Has a leader of its own: a process of a former version does not know it. */
    writeDeliveries,
    /** Lets attempts under way end within the grace time, then cuts them: they are repeated after the next start. */
    async stop(): Promise<void> {
      isStopping = true;
      deliverer.stop();
      const timer = setTimeout(deliverer.abort, stopGraceMs);
      await consumer.stop();
      clearTimeout(timer);
      deliverer.abort();
    },
  };
}

/** Repeats a statement that changes a bounded number of rows while it reaches its bound. */
async function repeatWhileFull(statement: () => Promise<number>): Promise<void> {
  for (let count = 0; count < maxStatements; count += 1) if ((await statement()) < maxRowsPerStatement) return;
}
