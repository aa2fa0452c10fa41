import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import {
  createDeliveryStore,
  type Delivery,
  type DeliveryStore,
} from '../../src/stores/postgres/webhook-deliveries.ts';
import type { NewDelivery } from '../../src/stores/postgres/webhook-new-deliveries.ts';
import type { Webhook } from '../../src/stores/postgres/webhook-row.ts';
import { createWebhookStore, type WebhookStore } from '../../src/stores/postgres/webhooks.ts';
import { createDeliverer } from '../../src/webhooks/deliver.ts';
import type { SendResult } from '../../src/webhooks/send.ts';
import { makeSecret } from '../../src/webhooks/sign.ts';
import { freshDatabase } from './auth-server.ts';
import { unlimitedRequests } from './request-limits.ts';

export const startMs = Date.UTC(2026, 0, 1);
export const schedule = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** A database of its own, with a user who may own endpoints. */
export async function deliveryDatabase(ownerId: string) {
  const database = await freshDatabase();
  await database.sql`INSERT INTO users (id, email, email_key, password_hash, role) VALUES (${ownerId}, 'o@example.org', 'o@example.org', 'x', 'ADMIN')`;
  return { database, webhooks: createWebhookStore(database.sql), deliveries: createDeliveryStore(database.sql) };
}

export type DeliveryDatabase = Awaited<ReturnType<typeof deliveryDatabase>>;

/** A database for the tests of a suite: given to `take` before the first of them, dropped after the last. */
export function useDeliveries(take: (opened: DeliveryDatabase) => void) {
  const ownerId = newId();
  let opened: DeliveryDatabase | undefined;
  before(async () => {
    opened = await deliveryDatabase(ownerId);
    take(opened);
  });
  after(() => opened?.database.drop());
  return {
    ownerId,
    ...deliveryTools(ownerId, () => opened ?? assert.fail('the database is opened before the first test')),
  };
}

/** What tests do to the stores that they have by then. */
export function deliveryTools(ownerId: string, stores: () => { webhooks: WebhookStore; deliveries: DeliveryStore }) {
  return {
    async endpoint(fields: Partial<Webhook> = {}): Promise<Webhook> {
      const at = new Date(startMs);
      const webhook: Webhook = {
        id: newId(),
        ownerId,
        scopeRole: 'ADMIN',
        surveyId: null,
        url: 'https://example.com/',
        events: ['survey.published'],
        description: null,
        isActive: true,
        isBatch: false,
        maxPerSecond: null,
        maxAgeSeconds: 432_000,
        maxWaiting: 100,
        secretSealed: Buffer.from('x'),
        oldSecrets: [],
        failingSince: null,
        pausedUntil: null,
        disabledAt: null,
        disabledReason: null,
        createdAt: at,
        updatedAt: at,
        ...fields,
      };
      await stores().webhooks.create(webhook);
      return webhook;
    },
    async listOf(webhookId: string): Promise<Delivery[]> {
      const { pieces } = await stores().deliveries.list({ webhookId, page: 1, limit: 100 });
      const listed: Delivery[] = [];
      for await (const piece of pieces) listed.push(...piece);
      return listed.reverse();
    },
    /** A deliverer whose clock and answers are the test's. */
    world() {
      const answer: SendResult = { kind: 'replied', status: 500, response: 'no', retryAfter: undefined, latencyMs: 3 };
      const state = {
        nowMs: startMs,
        answer: answer as SendResult,
        attemptsAt: [] as number[],
        urls: [] as string[],
        signatures: [] as string[],
        bodies: [] as string[],
        /** What happens while an attempt is under way. */
        meanwhile: async (): Promise<unknown> => undefined,
      };
      const { webhooks, deliveries } = stores();
      const deliverer = createDeliverer({
        webhooks,
        deliveries: { ...deliveries, saveResultsUnsynced: deliveries.saveResults },
        secrets: { open: makeSecret },
        requestLimits: unlimitedRequests(),
        scheduleSeconds: schedule,
        metrics: { webhookAttempted: () => undefined },
        log: createLog('silent'),
        now: () => state.nowMs,
        random: () => 0.5,
        newId,
        cutConnections: () => undefined,
        send: async ({ url, headers, body }) => {
          state.attemptsAt.push(state.nowMs);
          state.urls.push(url);
          state.signatures.push(headers['webhook-signature'] ?? '');
          state.bodies.push(body);
          const { answer } = state;
          await state.meanwhile();
          return answer;
        },
      });
      return { state, deliverer };
    },
  };
}

export function rowFor(webhookId: string, atMs: number, more: Partial<NewDelivery> = {}): NewDelivery {
  const [id, at] = [newId(atMs), new Date(atMs)];
  return {
    id,
    webhookId,
    event: 'survey.published',
    eventKey: id,
    occurredAt: at,
    data: {},
    nextAttemptAt: at,
    createdAt: at,
    ...more,
  };
}
