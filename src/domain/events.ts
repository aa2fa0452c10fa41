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
