import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { createPostgres, type Sql } from '../../src/stores/postgres/client.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { refusedUrls } from '../support/refused-urls.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type SharedStores, sharedStores } from '../support/stores.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

describe('webhook addresses inside the network', () => {
  let stores: SharedStores;
  let service: RunningService;
  let admin: Client;
  let sql: Sql;
  let inside: Receiver;

  before(async () => {
    stores = await sharedStores();
    service = await startService();
    admin = await adminClient(service);
    sql = createPostgres(stores.databaseUrl, { log: createLog('error') });
    inside = await startReceiver();
  });
  after(async () => {
    await service?.stop();
    await inside?.close();
    await sql?.end();
    await stores?.stop();
  });

  // A literal public address: nothing is sent to it, because no event comes.
  const saved = () => admin.create('/webhooks', { url: 'https://93.184.216.34/', events: ['quota.reached'] });

  it('are refused when an endpoint is created or changed', async () => {
    assert.ok(refusedUrls.length >= 60);
    const hook = await saved();
    for (const url of refusedUrls) {
      const made = await admin.call('POST', '/webhooks', { body: { url, events: ['quota.reached'] } });
      assert.deepEqual(
        [made.status, made.body.code, made.body.details?.[0]?.path],
        [400, 'VALIDATION_ERROR', 'url'],
        `POST ${JSON.stringify(url)}`,
      );
      const changed = await admin.call('PUT', `/webhooks/${hook.id}`, { body: { url } });
      assert.deepEqual([changed.status, changed.body.code], [400, 'VALIDATION_ERROR'], `PUT ${JSON.stringify(url)}`);
    }
    assert.equal((await admin.get(`/webhooks/${hook.id}`)).url, 'https://93.184.216.34/');
  });

  it('receive no byte even if they are in the database', async () => {
    const port = new URL(inside.url).port;
    const urls = [
      inside.url,
      `http://localhost:${port}/`,
      `http://[::1]:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://0:${port}/`,
      'http://127.0.0.1/',
      'http://localhost./',
    ];
    for (const url of urls) {
      const hook = await saved();
      await sql`UPDATE webhooks SET url = ${url} WHERE id = ${hook.id}`;
      await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
      await eventually(async () =>
        assert.match(
          (await admin.get(`/webhooks/${hook.id}/deliveries`))[0].attempts[0]?.error ?? '',
          /^the address /,
          url,
        ),
      );
    }
    assert.deepEqual([inside.received.length, inside.sockets.most], [0, 0]);
    assert.match(
      await (await fetch(`${service.origin}/metrics`)).text(),
      /^webhook_attempts_total\{result="blocked"\} [1-9]/m,
    );
  });
});
