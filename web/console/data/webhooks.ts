import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf, pageOf } from './api.ts';
import { keepLastOf, pollUnlessRefused, queryClient, rereadMs } from './query-client.ts';

export type Webhook = components['schemas']['Webhook'];
export type WebhookEvent = components['schemas']['WebhookEvent'];
export type Delivery = components['schemas']['Delivery'];
export type DeliveryStatus = Delivery['status'];

export const webhookEvents = [
  'response.submitted',
  'response.completed',
  'survey.published',
  'quota.reached',
] as const satisfies readonly WebhookEvent[];
export const deliveryStatuses = ['PENDING', 'DELIVERED', 'FAILED'] as const satisfies readonly DeliveryStatus[];

/** Deliveries change by themselves while the screen is open. */
const deliveryPollMs = 2000;
/** Failures switch a webhook off, and others change it. */
const webhookPollMs = 5000;

/** A page of the user's webhooks, newest first; an ADMIN gets everybody's. */
export const webhookListQuery = (query: { page: number; limit: number }) =>
  queryOptions({
    queryKey: ['webhooks', 'list', query],
    queryFn: ({ signal }) => pageOf(api.GET('/webhooks', { params: { query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: pollUnlessRefused(rereadMs),
  });

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', id],
    queryFn: ({ signal }) => dataOf(api.GET('/webhooks/{id}', { params: { path: { id } }, signal })),
    refetchInterval: pollUnlessRefused(webhookPollMs),
  });

interface DeliveryListQuery {
  page: number;
  limit: number;
  status?: DeliveryStatus | undefined;
  event?: WebhookEvent | undefined;
}

/** A page of the deliveries of a webhook with their attempts, newest first. */
export const deliveryListQuery = (id: string, query: DeliveryListQuery) =>
  queryOptions({
    queryKey: ['webhooks', id, 'deliveries', query],
    queryFn: ({ signal }) => pageOf(api.GET('/webhooks/{id}/deliveries', { params: { path: { id }, query }, signal })),
    placeholderData: keepLastOf('webhooks', id),
    refetchInterval: pollUnlessRefused(deliveryPollMs),
  });

export interface WebhookFields {
  url: string;
  events: WebhookEvent[];
  /** Null: all surveys that the owner may read. */
  surveyId: string | null;
  description: string | null;
  batch: boolean;
  /** Null: as fast as the endpoint replies. */
  maxPerSecond: number | null;
}

const changed = () => queryClient.invalidateQueries({ queryKey: ['webhooks'] });

/** Makes a webhook; `secret` signs its deliveries and is shown this once. */
export async function createWebhook(body: WebhookFields): Promise<Webhook & { secret: string }> {
  const made = await dataOf(api.POST('/webhooks', { body }));
  void changed();
  return made;
}

/** Changes fields of a webhook; those left out stay. */
export async function changeWebhook(id: string, body: Partial<WebhookFields> & { isActive?: boolean }): Promise<void> {
  if (Object.keys(body).length === 0) return;
  await dataOf(api.PUT('/webhooks/{id}', { params: { path: { id } }, body }));
  await changed();
}

export async function deleteWebhook(id: string): Promise<void> {
  await dataOf(api.DELETE('/webhooks/{id}', { params: { path: { id } } }));
  queryClient.removeQueries({ queryKey: ['webhooks', id] });
  await queryClient.invalidateQueries({ queryKey: ['webhooks', 'list'] });
}

/** Replaces the secret; both sign for 24 hours. Resolves to the new one, which is shown this once. */
export async function rotateSecret(id: string): Promise<string> {
  return (await dataOf(api.POST('/webhooks/{id}/rotate-secret', { params: { path: { id } } }))).secret;
}

/** Sends a test event. */
export async function testWebhook(id: string, event: WebhookEvent): Promise<void> {
  await dataOf(api.POST('/webhooks/{id}/test', { params: { path: { id } }, body: { event } }));
  await changed();
}

export async function redeliver(id: string, deliveryId: string): Promise<void> {
  await dataOf(api.POST('/webhooks/{id}/deliveries/{deliveryId}/redeliver', { params: { path: { id, deliveryId } } }));
  await changed();
}

/** Sends the deliveries of a time range again, from `since` to before `until`. Resolves to their number. */
export async function replayDeliveries(
  id: string,
  body: { since: string; until: string; status?: 'DELIVERED' | 'FAILED' },
): Promise<number> {
  const { deliveries } = await dataOf(api.POST('/webhooks/{id}/replay', { params: { path: { id } }, body }));
  await changed();
  return deliveries;
}
