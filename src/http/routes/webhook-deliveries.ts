import { z } from 'zod';
import type { WebhookEventName } from '../../domain/events.ts';
import { conflict, notFound } from '../../errors.ts';
import type { JobSender } from '../../pipelines/queues.ts';
import {
  type Delivery,
  type DeliveryPage,
  type DeliveryStore,
  deliveryStatuses,
} from '../../stores/postgres/webhook-deliveries.ts';
import { keptAttempts } from '../../stores/postgres/webhook-delivery-attempts.ts';
import type { Webhook } from '../../stores/postgres/webhook-row.ts';
import type { WebhookStore } from '../../stores/postgres/webhooks.ts';
import { objectFromPath } from '../routing/audit.ts';
import { aboutSurvey, accepted, pageInPieces, type Route, route } from '../routing/route.ts';
import { pageFields, startField, untilField } from '../schemas/query-fields.ts';
import { deliverySchema, replaySchema, webhookEventSchema } from '../schemas/webhooks.ts';
import { isSending, webhookOf } from './webhooks.ts';

export interface WebhookDeliveryRoutesDeps {
  webhooks: Pick<WebhookStore, 'find'>;
  deliveries: Pick<DeliveryStore, 'add' | 'find' | 'list' | 'redeliver' | 'replay'>;
  jobs: JobSender;
  now(): number;
  newId(): string;
}

const common = { tag: 'Webhooks', access: { kind: 'editor' }, limit: 'api' } as const;
const replayRange = z
  .strictObject({
    since: startField,
    until: untilField,
    status: z.enum(deliveryStatuses).exclude(['PENDING']).optional(),
  })
  .refine(({ since, until }) => since < until, { path: ['until'], message: 'must be after since' });

/** Deliveries of a webhook: test, list, redeliver, replay. */
export function webhookDeliveryRoutes(deps: WebhookDeliveryRoutesDeps): Route[] {
  return [testRoute(deps), listRoute(deps), redeliverRoute(deps), replayRoute(deps)];
}

function testRoute({ webhooks, deliveries, jobs, now, newId }: WebhookDeliveryRoutesDeps): Route {
  return route({
    ...common,
    method: 'POST',
    path: '/webhooks/{id}/test',
    operationId: 'testWebhook',
    summary: 'Send a test event',
    description:
      'Signed and logged like a real event; `data` has `test: true` and made-up ids, except that of the survey that the webhook names. `event` is by default the first that the webhook listens to. The list of deliveries shows the result.',
    body: z.strictObject({ event: webhookEventSchema.optional() }).optional(),
    isBodyOptional: true,
    reply: deliverySchema,
    replyStatus: 202,
    audit: { action: 'webhook.tested', objectKind: 'webhook', describe: objectFromPath('id') },
    handle: async (request) => {
      const webhook = await webhookOf(request, webhooks);
      assertActive(webhook);
      const [id, at] = [newId(), new Date(now())];
      const event = request.body?.event ?? (webhook.events[0] as WebhookEventName);
      const data = {
        ...sampleData(event, { surveyId: webhook.surveyId ?? newId(), responseId: newId(), at: at.toISOString() }),
        test: true,
      };
      await deliveries.add([
        {
          id,
          webhookId: webhook.id,
          event,
          eventKey: `test:${id}`,
          occurredAt: at,
          data,
          nextAttemptAt: at,
          createdAt: at,
        },
      ]);
      wakeDelivery(jobs, webhook.id);
      return aboutSurvey(
        webhook.surveyId,
        accepted(presentDelivery(await requireDelivery(deliveries.find(webhook.id, id)), webhook)),
      );
    },
  });
}

function listRoute({ webhooks, deliveries }: WebhookDeliveryRoutesDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/webhooks/{id}/deliveries',
    operationId: 'listDeliveries',
    summary: "List a webhook's deliveries",
    description: `Newest first, with the newest ${keptAttempts} attempts of each. Finished deliveries are kept for 30 days, at most the newest million of a webhook. The list is sent while it is read: where that fails, the reply breaks off.`,
    query: z.strictObject({
      ...pageFields(100),
      status: z.enum(deliveryStatuses).optional(),
      event: webhookEventSchema.optional(),
    }),
    reply: z.array(deliverySchema),
    replyStatus: 200,
    isPaged: true,
    handle: async (request) => {
      const webhook = await webhookOf(request, webhooks);
      const { page, limit } = request.query;
      const { pieces, total } = await deliveries.list({ ...request.query, webhookId: webhook.id });
      return pageInPieces(presentPieces(pieces, webhook), { page, limit, total });
    },
  });
}

function redeliverRoute({ webhooks, deliveries, jobs, now }: WebhookDeliveryRoutesDeps): Route {
  return route({
    ...common,
    method: 'POST',
    path: '/webhooks/{id}/deliveries/{deliveryId}/redeliver',
    operationId: 'redeliver',
    summary: 'Send a delivery again',
    description:
      'The event has the same id as before: alone as `webhook-id`, in a batch as `id` in `data.events`. The batch is another one, with a `webhook-id` of its own. The retry schedule starts anew; an attempt that is under way is logged, and the event is sent again whatever it comes to.',
    reply: deliverySchema,
    replyStatus: 202,
    audit: {
      action: 'webhook.redelivered',
      objectKind: 'webhook',
      describe: ({ params }) => ({ objectId: params['id'] ?? '', details: { deliveryId: params['deliveryId'] } }),
    },
    handle: async (request) => {
      const webhook = await webhookOf(request, webhooks);
      await requireDelivery(deliveries.find(webhook.id, request.params['deliveryId'] ?? ''));
      assertActive(webhook);
      const delivery = await requireDelivery(
        deliveries.redeliver(webhook.id, request.params['deliveryId'] ?? '', new Date(now())),
      );
      wakeDelivery(jobs, webhook.id);
      return aboutSurvey(webhook.surveyId ?? surveyIdOf(delivery), accepted(presentDelivery(delivery, webhook)));
    },
  });
}

function replayRoute({ webhooks, deliveries, jobs, now }: WebhookDeliveryRoutesDeps): Route {
  return route({
    ...common,
    method: 'POST',
    path: '/webhooks/{id}/replay',
    operationId: 'replayEvents',
    summary: 'Send the deliveries of a time range again',
    description:
      'Deliveries that were created from `since` to before `until` and do not already wait, DELIVERED and FAILED ones or only those with `status`, each event with the same id as before: alone as `webhook-id`, in a batch as `id` in `data.events`. The batches are other ones, with a `webhook-id` of their own. `status: FAILED` sends what was missed while the endpoint was away or its queue was full. All of them wait, also beyond `maxWaiting`; until fewer than that wait, new events are not sent.',
    body: replayRange,
    reply: replaySchema,
    replyStatus: 202,
    audit: { action: 'webhook.replayed', objectKind: 'webhook', describe: objectFromPath('id') },
    handle: async (request) => {
      const webhook = await webhookOf(request, webhooks);
      assertActive(webhook);
      const { since, until, status } = request.body;
      const count = await deliveries.replay(webhook.id, { since, until, status, now: new Date(now()) });
      wakeDelivery(jobs, webhook.id);
      return aboutSurvey(
        webhook.surveyId,
        accepted({ webhookId: webhook.id, since: since.toISOString(), until: until.toISOString(), deliveries: count }),
      );
    },
  });
}

function assertActive(webhook: Webhook): void {
  if (!isSending(webhook))
    throw conflict(
      'WEBHOOK_NOT_ACTIVE',
      webhook.isActive ? `Nothing is sent to the webhook now: ${webhook.blockedReason}` : 'The webhook is not active',
    );
}

async function requireDelivery(delivery: Promise<Delivery | undefined>): Promise<Delivery> {
  const value = await delivery;
  if (!value) throw notFound('delivery');
  return value;
}

/** If the job is lost, the sweep finds the delivery. */
const wakeDelivery = (jobs: JobSender, webhookId: string): void =>
  void jobs.add('webhooks', { webhookId }, { once: webhookId }).catch(() => undefined);

function sampleData(
  event: WebhookEventName,
  { surveyId, responseId, at }: { surveyId: string; responseId: string; at: string },
): Record<string, unknown> {
  switch (event) {
    case 'response.submitted':
    case 'response.completed':
      return { surveyId, responseId, outcome: 'COMPLETED', collectorId: null };
    case 'survey.published':
      return { surveyId, title: 'Test', publishedAt: at };
    case 'quota.reached':
      return { surveyId, quotaId: null, quotaName: null, quota: 1, responseCount: 1, reachedAt: at };
  }
}

/** The survey of an event; that of a test event may be made up. */
const surveyIdOf = ({ data }: Delivery): string | null =>
  typeof data['surveyId'] === 'string' && data['test'] !== true ? data['surveyId'] : null;

async function* presentPieces(pieces: DeliveryPage['pieces'], webhook: Webhook) {
  for await (const piece of pieces) yield piece.map((delivery) => presentDelivery(delivery, webhook));
}

/**
 * A delivery as the API shows it; the next attempt is not before the end of a pause that the endpoint has asked for.
 */
function presentDelivery(
  { id, event, webhookId, status, attempts, nextAttemptAt: due, createdAt }: Delivery,
  { pausedUntil }: Webhook,
) {
  const nextAttemptAt = due && pausedUntil && pausedUntil > due ? pausedUntil : due;
  return {
    id,
    event,
    webhookId,
    status,
    attempts,
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  };
}
