import { type SurveyEventName, surveyEvents, type WebhookEventName } from '../domain/events.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { Settings } from '../settings.ts';
import { type DeliveryStore, maxRowsPerStatement } from '../stores/postgres/webhook-deliveries.ts';
import type { WebhookStore } from '../stores/postgres/webhooks.ts';
import { createDeliverer } from '../webhooks/deliver.ts';
import type { FanOut } from '../webhooks/fan-out.ts';
import { createGuard } from '../webhooks/guard.ts';
import { createSender } from '../webhooks/send.ts';
import type { OutboxHandler } from './outbox.ts';
import { createPageCursor } from './page-cursor.ts';
import type { JobSender } from './queues.ts';
import type { ScheduledTask } from './schedule.ts';
import type { Workers } from './workers.ts';

export interface WebhookJobsDeps {
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  workers: Workers;
  secrets: Secrets;
  settings: Pick<Settings, 'webhookAllowPrivate' | 'webhookRetryScheduleSeconds'>;
  metrics: Metrics;
  log: Log;
  now(): number;
  newId(): string;
}

const sweepPageSize = 1000;
const graceMs = 2000;
const deduplicationWindowMs = 15_000;
const logRetentionMs = 30 * 86_400_000;
/** Of one endpoint's log: at thousands of events a second thirty days of them would fill any disk. */
const keptAtMost = 1_000_000;
const maxPurgeRounds = 200;

/** Says that endpoints have work; `turn` tells apart hints that would otherwise count as one. A lost hint is made good by the sweeper within about a second. */
export function createEnqueueDelivery(jobs: JobSender, log: Log) {
  return (webhookIds: readonly string[], delayMs: number, turn = ''): void => {
    for (const webhookId of webhookIds)
      jobs
        .add('webhooks', { webhookId }, { once: webhookId + turn, delayMs })
        .catch((error: unknown) =>
          log.debug({ err: error, webhookId }, 'enqueueing a delivery job failed, the sweeper will find the endpoint'),
        );
  };
}

/** Events that transactions have left in the outbox, told to endpoints; the row's id names the cause. */
export function webhookOutboxHandlers(fanOut: Pick<FanOut, 'publishEvent'>): Record<string, OutboxHandler[]> {
  const publish =
    (event: WebhookEventName, timeField: string): OutboxHandler =>
    ({ id, payload }) =>
      fanOut.publishEvent({
        event,
        key: `outbox:${id}`,
        surveyId: String(payload['surveyId']),
        occurredAt: new Date(String(payload[timeField])),
        data: payload,
      });
  const timeFields: Readonly<Record<SurveyEventName, string>> = {
    'survey.published': 'publishedAt',
    'quota.reached': 'reachedAt',
  };
  return Object.fromEntries(surveyEvents.map((event) => [event, [publish(event, timeFields[event])]]));
}

/** Delivers in this process; gives the tasks that keep the deliveries in order. */
export function startWebhookJobs(deps: WebhookJobsDeps) {
  const { webhooks, deliveries, workers, metrics, log, now } = deps;
  const send = createSender({ guard: createGuard({ isPrivateAllowed: deps.settings.webhookAllowPrivate }) });
  const deliverer = createDeliverer({
    webhooks,
    deliveries,
    send,
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
  const endpointsWithWork = createPageCursor((after, most) => webhooks.findDue(new Date(now()), most, after), {
    limit: sweepPageSize,
    cursorOf: (id) => id,
  });
  const tasks: ScheduledTask[] = [
    {
      // A job that died with its process keeps later hints back until it is found to be stalled: the sweeper's are not counted together with those.
      name: 'enqueue endpoints with due deliveries',
      everyMs: 1000,
      run: async () => enqueueDelivery(await endpointsWithWork(), 0, `.${Math.floor(now() / deduplicationWindowMs)}`),
    },
    {
      name: 'measure webhooks',
      everyMs: 5000,
      run: async () => {
        const { oldestPending, disabled } = await webhooks.stats();
        metrics.webhookState({
          oldestPendingSeconds: oldestPending === null ? 0 : Math.max(0, (now() - oldestPending.getTime()) / 1000),
          disabled,
        });
      },
    },
    {
      name: 'disable endpoints of deleted surveys',
      everyMs: 60_000,
      run: () => webhooks.disableOrphans(new Date(now())),
    },
    {
      name: 'expire webhook deliveries',
      everyMs: 30_000,
      run: () => repeatUntilDone(() => deliveries.expire(new Date(now()))),
    },
    {
      name: 'purge webhook deliveries',
      everyMs: 60_000,
      run: () => repeatUntilDone(() => deliveries.purge({ before: new Date(now() - logRetentionMs), keptAtMost })),
    },
  ];
  return {
    tasks,
    /** Lets attempts that are nearly there end; the rest is sent again after the next start. */
    async stop(): Promise<void> {
      deliverer.stop();
      const timer = setTimeout(deliverer.abort, graceMs);
      await consumer.stop();
      clearTimeout(timer);
      deliverer.abort();
    },
  };
}

/** A statement takes so many rows at most: goes on while there may be more. */
async function repeatUntilDone(step: () => Promise<number>): Promise<void> {
  for (let part = 0; part < maxPurgeRounds; part += 1) if ((await step()) < maxRowsPerStatement) return;
}
