import { z } from 'zod';
import { surveyAnalyticsSchema } from './analytics.ts';
import { countSchema, idInputSchema, idSchema, timeSchema } from './common.ts';
import { outcomeSchema } from './outcome.ts';
import { answerSchema } from './responses.ts';
import { surveyStatusSchema } from './surveys.ts';

export const liveTicketSchema = z
  .strictObject({
    ticket: z.string(),
    expiresInSeconds: z.number().int().min(1).describe('For how long the ticket can be used, once'),
  })
  .meta({ id: 'LiveTicket', description: 'Opens the WebSocket: `{base_url}/live?ticket=…`.' });

export const liveChannels = ['responses', 'analytics', 'status', 'jobs'] as const;
export const channelSchema = z.enum(liveChannels);

/** What a client may send over the WebSocket. */
export const liveClientMessageSchema = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('subscribe'),
      surveyId: idInputSchema,
      channels: z.array(channelSchema).min(1),
      after: z
        .string()
        .max(200)
        .nullish()
        .describe(
          'The last cursor that was received: later responses are sent first. Null is the same as leaving it out',
        ),
    }),
    z.strictObject({
      type: z.literal('unsubscribe'),
      surveyId: idInputSchema,
      channels: z.array(channelSchema).min(1).optional(),
    }),
    z.strictObject({ type: z.literal('ping') }),
  ])
  .meta({ id: 'LiveClientMessage', description: 'A message from the client.' });

/** What the service sends over the WebSocket. */
export const liveServerMessageSchema = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('subscribed'),
      surveyId: idSchema,
      channels: z.array(channelSchema),
      cursor: z.string().optional(),
    }),
    z.strictObject({ type: z.literal('unsubscribed'), surveyId: idSchema }),
    z.strictObject({
      type: z.literal('response'),
      surveyId: idSchema,
      responseId: idSchema,
      isComplete: z.boolean(),
      outcome: outcomeSchema,
      submittedAt: timeSchema,
      collectorId: idSchema.nullable(),
      answers: z.array(answerSchema),
      cursor: z.string(),
    }),
    surveyAnalyticsSchema.extend({ type: z.literal('analytics'), surveyId: idSchema }),
    z.strictObject({
      type: z.literal('status'),
      surveyId: idSchema,
      status: surveyStatusSchema,
      reason: z.string().nullable(),
      version: z.number().int().min(1).describe('Of the wording: a message comes with every change of it'),
      quotas: z
        .array(z.strictObject({ id: idSchema, count: z.number().int(), limit: countSchema }))
        .optional()
        .describe('The active quotas by cell, if there are any'),
    }),
    z.strictObject({
      type: z.literal('job'),
      surveyId: idSchema,
      kind: z.enum(['export', 'ai']),
      id: z.string(),
      status: z.string(),
      progress: z.number().min(0).max(1),
    }),
    z.strictObject({
      type: z.literal('lagged'),
      surveyId: idSchema,
      skipped: countSchema.describe('Responses that were held back while the client was too slow; they follow'),
    }),
    z
      .strictObject({ type: z.literal('missed'), surveyId: idSchema, from: timeSchema, to: timeSchema })
      .describe('The cursor was too old: responses of this time are not replayed; read them as a list'),
    z
      .strictObject({ type: z.literal('reconnect'), afterMs: z.number().int().min(0) })
      .describe('The service stops: reconnect after this time, with the last cursor'),
    z.strictObject({ type: z.literal('pong') }),
    z.strictObject({ type: z.literal('error'), code: z.string(), message: z.string(), surveyId: idSchema.optional() }),
  ])
  .meta({
    id: 'LiveServerMessage',
    description:
      'A message from the service. `analytics` is sent at most once a second, and `status` for changed quotas.',
  });
