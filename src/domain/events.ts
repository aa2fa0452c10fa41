import type { Outcome } from './outcome.ts';

/** The events that webhooks can subscribe to. `http/schemas/webhooks.ts` gives the body that each one is sent with. */
export const webhookEvents = ['response.submitted', 'response.completed', 'survey.published', 'quota.reached'] as const;
export type WebhookEventName = (typeof webhookEvents)[number];

/**
 * Events about one response. They come from the stored responses, the others from the outbox of PostgreSQL
 * transactions.
 */
export const responseEvents = [
  'response.submitted',
  'response.completed',
] as const satisfies readonly WebhookEventName[];
export const surveyEvents = ['survey.published', 'quota.reached'] as const satisfies readonly WebhookEventName[];
export type SurveyEventName = (typeof surveyEvents)[number];

/** Something that happened. `key` names its cause: however often it is published, each endpoint gets it once. */
export interface WebhookEvent {
  event: WebhookEventName;
  key: string;
  surveyId: string;
  occurredAt: Date;
  /** When it was written down; absent: now. */
  keptAt?: Date;
  data: Readonly<Record<string, unknown>>;
}

/** Events of responses that have all in common but the response and the times. */
export interface ResponseEventGroup {
  event: (typeof responseEvents)[number];
  outcome: Outcome;
  /** Null if it is not known. */
  collectorId: string | null;
  /** Id, when it happened and when the response was submitted; both in milliseconds. */
  responses: [responseId: string, occurredAtMs: number, submittedAtMs: number][];
}

/** Endpoints are to be told this of the responses to a survey. */
export interface ResponseEvents {
  surveyId: string;
  /** The endpoints that listened when the responses were stored. */
  webhookIds: readonly string[];
  groups: readonly ResponseEventGroup[];
  /** Keys of events whose responses were deleted. */
  deletedKeys: readonly string[];
}
