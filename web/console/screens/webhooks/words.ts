import type { DeliveryStatus, WebhookEvent } from '../../data/webhooks.ts';
import type { Tone } from '../../parts/feedback.tsx';

export const eventNames: Readonly<Record<WebhookEvent, string>> = {
  'response.submitted': 'Response submitted',
  'response.completed': 'Response completed',
  'survey.published': 'Survey published',
  'quota.reached': 'Quota reached',
};

export const deliveryStates: Readonly<Record<DeliveryStatus, { name: string; tone: Tone }>> = {
  PENDING: { name: 'Waiting', tone: 'warning' },
  DELIVERED: { name: 'Delivered', tone: 'success' },
  FAILED: { name: 'Failed', tone: 'error' },
};
