import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type WebhookRoutesDeps, webhookRoutes } from '../../../../src/http/routes/webhooks.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { Webhook } from '../../../../src/stores/postgres/webhook-row.ts';
import { maxOldSecrets } from '../../../../src/stores/postgres/webhooks.ts';

const nowMs = Date.parse('2026-03-01T10:00:00.000Z');

/**
 * Calls the route on an endpoint whose replaced secrets end at these moments, and that can be rotated from a certain
 * attempt on.
 */
async function rotate({ untilMs, rotatedAt }: { untilMs: readonly number[]; rotatedAt: number }) {
  const [ownerId, at] = [newId(), new Date(nowMs)];
  const webhook: Webhook = {
    id: newId(),
    ownerId,
    scopeRole: 'EDITOR',
    surveyId: null,
    url: 'http://localhost/',
    events: [],
    description: null,
    isActive: true,
    isBatch: false,
    maxPerSecond: null,
    maxAgeSeconds: 60,
    maxWaiting: 100,
    secretSealed: Buffer.alloc(0),
    oldSecrets: untilMs.map((until) => ({ sealed: Buffer.alloc(0), until: new Date(until) })),
    failingSince: null,
    pausedUntil: null,
    disabledAt: null,
    disabledReason: null,
    createdAt: at,
    updatedAt: at,
  };
  let attempts = 0;
  const deps = {
    webhooks: { find: async () => webhook, rotate: async () => ++attempts >= rotatedAt },
    secrets: { seal: () => Buffer.alloc(0) },
    audit: { record: async () => undefined },
    now: () => nowMs,
    newId,
  } as unknown as WebhookRoutesDeps;
  const route = webhookRoutes(deps).find(({ path }) => path.endsWith('/rotate-secret'));
  const call = { params: { id: webhook.id }, principal: { role: 'EDITOR', userId: ownerId } } as never;
  return { outcome: await route?.handle(call).catch((error: unknown) => error), attempts: () => attempts };
}

const holds = (outcome: unknown, expected: Readonly<Record<string, unknown>>) =>
  assert.deepEqual(
    Object.fromEntries(Object.keys(expected).map((key) => [key, Reflect.get(Object(outcome), key)])),
    expected,
  );

test('a rotation refused while replaced secrets sign says when the first of them ends', async () => {
  const { outcome } = await rotate({
    untilMs: [nowMs - 1, ...Array.from({ length: maxOldSecrets }, (_, n) => nowMs + 90_000 - n * 1000)],
    rotatedAt: 2,
  });
  holds(outcome, { code: 'RATE_LIMITED', retryAfterSeconds: 91 - maxOldSecrets });
});

test('a rotation refused for the last secret that has just ended is done again', async () => {
  const { outcome, attempts } = await rotate({ untilMs: [nowMs], rotatedAt: 2 });
  assert.equal(attempts(), 2);
  holds(outcome, { kind: 'json', status: 200 });
});

test('a rotation that stays refused says to come again in a second', async () => {
  const { outcome } = await rotate({ untilMs: [], rotatedAt: Number.POSITIVE_INFINITY });
  holds(outcome, { code: 'RATE_LIMITED', retryAfterSeconds: 1 });
});
