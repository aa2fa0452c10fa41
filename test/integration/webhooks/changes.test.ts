import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type WebhookRoutesDeps, webhookRoutes } from '../../../src/http/routes/webhooks.ts';
import { newId } from '../../../src/platform/ids.ts';
import { transferWebhooks } from '../../../src/stores/postgres/webhooks.ts';
import { type DeliveryDatabase, deliveryDatabase, deliveryTools, startMs } from '../../support/deliveries.ts';

describe('changes of an endpoint', () => {
  let database: DeliveryDatabase['database'];
  let webhooks: DeliveryDatabase['webhooks'];
  const ownerId = newId();
  let stores: DeliveryDatabase;
  before(async () => {
    stores = await deliveryDatabase(ownerId);
    ({ database, webhooks } = stores);
  });
  after(() => database?.drop());

  const { endpoint } = deliveryTools(ownerId, () => stores);

  /** Calls the route; `meanwhile` happens while the name of the address is looked up. */
  const change = async (
    id: string,
    body: object,
    { meanwhile = async () => undefined, userId = ownerId }: Options = {},
  ) => {
    const deps = {
      webhooks,
      guard: { refusalOf: () => undefined, check: async () => void (await meanwhile()) },
      audit: { record: async () => undefined },
      now: () => startMs,
      newId,
    } as unknown as WebhookRoutesDeps;
    const route = webhookRoutes(deps).find(({ operationId }) => operationId === 'changeWebhook');
    return route?.handle({ params: { id }, body, principal: { role: 'EDITOR', userId } } as never);
  };
  interface Options {
    meanwhile?: () => Promise<unknown>;
    userId?: string;
  }
  const url = 'https://new.example/';

  it('of different fields at once are all kept', async () => {
    const { id } = await endpoint();
    await change(
      id,
      { url },
      {
        meanwhile: async () => {
          await change(id, { isActive: false, maxWaiting: 1234 });
          await change(id, { description: 'of another call' });
        },
      },
    );
    const found = await webhooks.find(id);
    assert.deepEqual(
      [found?.url, found?.isActive, found?.maxWaiting, found?.description],
      [url, false, 1234, 'of another call'],
    );
  });

  it('do not switch on what the service has switched off meanwhile, unless they say so', async () => {
    const leased = await endpoint();
    const reason = 'The endpoint answered 410 Gone';
    const switchOff = () => webhooks.disable(leased, { at: new Date(startMs), reason });
    await change(leased.id, { url }, { meanwhile: switchOff });
    const off = await webhooks.find(leased.id);
    assert.deepEqual([off?.isActive, off?.disabledReason], [false, reason]);
    await change(leased.id, { isActive: true });
    const on = await webhooks.find(leased.id);
    assert.deepEqual([on?.isActive, on?.disabledReason, on?.disabledAt], [true, null, null]);
  });

  it('keep what is known of failures, unless they switch the endpoint on or change its address', async () => {
    for (const [body, isKept] of [
      [{ description: 'new' }, true],
      [{ isActive: true }, false],
      [{ url }, false],
    ] as const) {
      const leased = await endpoint();
      await webhooks.markFailing(leased, new Date(startMs));
      await webhooks.pause(leased, new Date(startMs));
      await change(leased.id, body);
      const found = await webhooks.find(leased.id);
      const at = isKept ? startMs : undefined;
      assert.deepEqual([found?.failingSince?.getTime(), found?.pausedUntil?.getTime()], [at, at], JSON.stringify(body));
    }
  });

  it('are refused when the endpoint was given to another user meanwhile', async () => {
    const userId = newId();
    await database.sql`INSERT INTO users (id, email, email_key, password_hash, role) VALUES (${userId}, ${userId}, ${userId}, 'x', 'EDITOR')`;
    const { id } = await endpoint({ ownerId: userId });
    const meanwhile = () => database.sql.begin((tx) => transferWebhooks(tx, userId, ownerId));
    await assert.rejects(change(id, { url, isActive: true }, { meanwhile, userId }), { code: 'NOT_FOUND' });
    const found = await webhooks.find(id);
    assert.deepEqual([found?.ownerId, found?.url, found?.isActive], [ownerId, 'https://example.com/', false]);
  });
});
