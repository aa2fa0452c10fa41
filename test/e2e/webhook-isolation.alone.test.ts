import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { createPostgres, type Sql } from '../../src/stores/postgres/client.ts';
import { createDeliveryStore } from '../../src/stores/postgres/webhook-deliveries.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type SharedStores, sharedStores } from '../support/stores.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const waiting = 10_000;
const samples = 200;
/** Tolerance of a time of a few milliseconds on a shared machine. */
const noiseMs = 40;

describe('several webhook endpoints', () => {
  let stores: SharedStores;
  let service: RunningService;
  let admin: Client;
  let sql: Sql;
  const receivers: Receiver[] = [];

  before(async () => {
    stores = await sharedStores();
    service = await startService({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
    admin = await adminClient(service);
    sql = createPostgres(stores.databaseUrl, { log: createLog('error') });
  });
  after(async () => {
    await Promise.all(receivers.map((receiver) => receiver.close()));
    await service?.stop();
    await sql?.end();
    await stores?.stop();
  });

  const receiverOf = async (...given: Parameters<typeof startReceiver>) => {
    const receiver = await startReceiver(...given);
    receivers.push(receiver);
    return receiver;
  };
  const endpointOf = (receiver: Receiver, more: object = {}) =>
    admin.create('/webhooks', { url: receiver.url, events: ['survey.published'], ...more });
  const addWaiting = async (webhookId: string, count: number) => {
    const at = new Date();
    const data = { surveyId: newId(), title: 'Many', publishedAt: at.toISOString() };
    await createDeliveryStore(sql).add(
      Array.from({ length: count }, () => {
        const id = newId();
        return {
          id,
          webhookId,
          event: 'survey.published',
          eventKey: `many:${id}`,
          occurredAt: at,
          data,
          nextAttemptAt: at,
          createdAt: at,
        };
      }),
    );
  };

  /** Milliseconds from the announcement of an event to its arrival, the slowest but one per cent. */
  const p99 = async (receiver: Receiver, webhookId: string) => {
    const times: number[] = [];
    for (let n = 0; n < samples; n += 1) {
      const before = receiver.received.length;
      const startedAt = Date.now();
      await admin.expect(202, 'POST', `/webhooks/${webhookId}/test`);
      await eventually(() => assert.ok(receiver.received.length > before), 10_000, 1);
      times.push((receiver.received.at(-1)?.atMs ?? 0) - startedAt);
    }
    return times.sort((a, b) => a - b)[Math.floor(samples * 0.99) - 1] ?? 0;
  };

  it('are not delayed by one that hangs with ten thousand deliveries, which uses at most five sockets', async () => {
    const quick = await receiverOf();
    const quickHook = await endpointOf(quick);
    const compare = async () => {
      const hanging = await receiverOf(() => undefined);
      const hangingHook = await endpointOf(hanging);
      const alone = await p99(quick, quickHook.id);
      await addWaiting(hangingHook.id, waiting);
      await eventually(() => assert.equal(hanging.sockets.now, 5));
      const beside = await p99(quick, quickHook.id);
      assert.equal(hanging.sockets.most, 5);
      await admin.remove(`/webhooks/${hangingHook.id}`);
      await hanging.close();
      return { alone, beside };
    };
    // Other work of the machine varies, also between the two times of a comparison; waiting for the other endpoint
    // would not.
    const compared = [await compare()];
    const isEqual = () => compared.some(({ alone, beside }) => beside <= 2 * alone + noiseMs);
    while (!isEqual() && compared.length < 3) compared.push(await compare());
    assert.ok(isEqual(), `p99 in ms alone and beside the hanging endpoint: ${JSON.stringify(compared)}`);
  });

  it('receive no more events a second than they allow', async () => {
    const slow = await receiverOf();
    const hook = await endpointOf(slow, { maxPerSecond: 20 });
    await addWaiting(hook.id, 60);
    await eventually(() => assert.equal(slow.received.length, 60), 15_000);
    // From when the service began the first one: on a busy machine it may be received later, and the last one is not.
    const deliveries = await eventually(async () => {
      const found = await admin.get(`/webhooks/${hook.id}/deliveries?status=DELIVERED&limit=100`);
      assert.equal(found.length, 60);
      return found;
    });
    const first = Math.min(...deliveries.map(({ attempts }: any) => Date.parse(attempts[0].at)));
    const last = slow.received.at(-1)?.atMs ?? 0;
    assert.ok(last - first >= 2800, `60 events at 20 a second took ${last - first} ms`);
  });

  it('have secrets that are encrypted in the database', async () => {
    const hook = await endpointOf(await receiverOf());
    const { secret } = await admin.post(`/webhooks/${hook.id}/rotate-secret`);
    const [row] = await sql<{ text: string }[]>`SELECT string_agg(w::text, ' ') AS text FROM webhooks w`;
    for (const shown of [hook.secret, secret]) {
      const key = Buffer.from(shown.slice('whsec_'.length), 'base64');
      for (const form of [shown, shown.slice('whsec_'.length), key.toString('hex'), Buffer.from(shown).toString('hex')])
        assert.ok(!row?.text.includes(form));
    }
  });

  it('receive ten thousand deliveries, each once and with a valid signature', async () => {
    const busy = await receiverOf();
    const hook = await endpointOf(busy);
    await addWaiting(hook.id, waiting);
    await eventually(() => assert.ok(busy.received.length >= waiting), 60_000, 100);
    assert.equal(new Set(busy.verified(hook.secret).map(({ id }) => id)).size, waiting);
    assert.equal(busy.received.length, waiting);
    assert.ok(busy.sockets.most <= 5, `${busy.sockets.most} sockets`);
  });
});
