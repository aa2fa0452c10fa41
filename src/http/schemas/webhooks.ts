import { z } from 'zod';
import { webhookEvents } from '../../domain/events.ts';
import { deliveryStatuses } from '../../stores/postgres/webhook-deliveries.ts';
import { keptAttempts } from '../../stores/postgres/webhook-delivery-attempts.ts';
import { countSchema, idSchema, timeSchema } from './common.ts';
import { outcomeSchema } from './outcome.ts';

export const webhookEventSchema = z.enum(webhookEvents).meta({ id: 'WebhookEvent', description: 'The kind of event.' });

const fields = {
  id: idSchema,
  url: z.string().meta({ format: 'uri' }),
  events: z.array(webhookEventSchema).min(1),
  surveyId: idSchema.nullable().describe('Null: all surveys that the owner may see'),
  description: z.string().nullable(),
  isActive: z.boolean().describe('Whether it is switched on. `disabledReason` says if nothing is sent nevertheless'),
  batch: z
    .boolean()
    .describe(
      'Up to 100 events, or the events of one second, in one request: `{event: "batch", timestamp, data: {events: [{id, event, timestamp, data}]}}`. `id` is that of the event, which never changes and is its `webhook-id` where it comes alone',
    ),
  maxPerSecond: z
    .number()
    .int()
    .min(1)
    .nullable()
    .describe('Most events a second; null: as fast as the endpoint replies'),
  maxAgeSeconds: z.number().int().min(60).describe('Deliveries that did not succeed within this time fail'),
  maxWaiting: z
    .number()
    .int()
    .min(1)
    .describe(
      'Most deliveries that wait at once, approximately. Events while the queue is full are not sent: the list of deliveries has them as FAILED with the reason, and a replay of their time range sends them, which may exceed this number',
    ),
  ownerId: idSchema.optional(),
  disabledAt: timeSchema.nullable().optional(),
  disabledReason: z
    .string()
    .nullable()
    .optional()
    .describe(
      'Why the service sends nothing: the endpoint replied 410, or no delivery had succeeded for five days; its owner or survey was deleted; or its owner is disabled, a VIEWER or no longer a member (then without `disabledAt` and with `isActive: true`, since it goes on when that ends)',
    ),
  createdAt: timeSchema,
  updatedAt: timeSchema,
};

export const webhookSchema = z
  .strictObject(fields)
  .meta({ id: 'Webhook', description: 'An endpoint that receives events.' });

export const webhookWithSecretSchema = z
  .strictObject({
    ...fields,
    secret: z.string().startsWith('whsec_').describe('Signs the deliveries; shown only here'),
  })
  .meta({ id: 'WebhookWithSecret', description: 'An endpoint with its secret, at creation and after a rotation.' });

export const attemptSchema = z
  .strictObject({
    at: timeSchema,
    httpStatus: z.number().int().nullable().describe('Null without a reply'),
    latencyMs: z.number().min(0),
    response: z.string().nullable().describe('The first 4 KiB of the reply'),
    error: z.string().nullable(),
  })
  .meta({ id: 'DeliveryAttempt', description: 'One attempt to deliver.' });

export const deliverySchema = z
  .strictObject({
    id: idSchema,
    event: webhookEventSchema,
    webhookId: idSchema,
    status: z.enum(deliveryStatuses),
    attempts: z.array(attemptSchema).describe(`The newest ${keptAttempts}`),
    nextAttemptAt: timeSchema.nullable(),
    createdAt: timeSchema.optional(),
  })
  .meta({ id: 'Delivery', description: 'An event on its way to an endpoint, with its newest attempts.' });

export const replaySchema = z
  .strictObject({
    webhookId: idSchema,
    since: timeSchema,
    until: timeSchema,
    deliveries: countSchema.describe('Number of deliveries that are sent again'),
  })
  .meta({ id: 'Replay', description: 'Deliveries of a time range that are sent again.' });

/** Marks of test events and of events about deleted data. */
const eventMarks = {
  test: z
    .literal(true)
    .optional()
    .describe('Sent by the test route; the ids are made up, except that of the survey that the webhook names'),
  deleted: z.literal(true).optional().describe('The response or its survey was deleted before the delivery'),
};
const surveyResponse = z.strictObject({
  surveyId: idSchema,
  responseId: idSchema,
  outcome: outcomeSchema.optional().describe('At the time of the event; missing in events of earlier versions'),
  collectorId: idSchema
    .nullable()
    .optional()
    .describe('The collector by which the response came; missing in events of earlier versions'),
  ...eventMarks,
});

const eventBodies = [
  z.strictObject({ event: z.literal('response.submitted'), timestamp: timeSchema, data: surveyResponse }),
  z.strictObject({ event: z.literal('response.completed'), timestamp: timeSchema, data: surveyResponse }),
  z.strictObject({
    event: z.literal('survey.published'),
    timestamp: timeSchema,
    data: z.strictObject({ surveyId: idSchema, title: z.string(), publishedAt: timeSchema, ...eventMarks }),
  }),
  z.strictObject({
    event: z.literal('quota.reached'),
    timestamp: timeSchema,
    data: z.strictObject({
      surveyId: idSchema,
      quotaId: idSchema
        .nullable()
        .optional()
        .describe('The quota by cell; null: that of the survey; missing in events of earlier versions'),
      quotaName: z.string().nullable().optional(),
      quota: countSchema.describe('Its limit'),
      responseCount: countSchema,
      reachedAt: timeSchema,
      ...eventMarks,
    }),
  }),
] as const;

const batchedEvents = [
  eventBodies[0].extend({ id: idSchema }),
  eventBodies[1].extend({ id: idSchema }),
  eventBodies[2].extend({ id: idSchema }),
  eventBodies[3].extend({ id: idSchema }),
] as const;

/** The body that an endpoint receives. */
export const webhookBodySchema = z
  .discriminatedUnion('event', [
    ...eventBodies,
    z.strictObject({
      event: z.literal('batch'),
      timestamp: timeSchema.describe('The time of the first event'),
      data: z.strictObject({ events: z.array(z.discriminatedUnion('event', batchedEvents)).min(1).max(100) }),
    }),
  ])
  .meta({
    id: 'WebhookBody',
    description: 'What an endpoint receives. Headers and signature follow Standard Webhooks.',
  });
