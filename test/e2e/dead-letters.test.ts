import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../src/ids.ts';
import { createLog } from '../../src/log.ts';
import { createIntakeRedis } from '../../src/stores/redis/clients.ts';
import { createShards } from '../../src/stores/redis/shards.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startService, type RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

describe('responses that the response store cannot read', () => {
  let service: RunningService;
  let admin: Client;
  before(async () => {
    await sharedStores();
    service = await startService({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
    admin = await adminClient(service);
  });
  after(async () => {
    await service.stop();
    await (await sharedStores()).stop();
  });

  it('are set apart with a reason, hold up no others, and can be tried again', async () => {
    const survey = await admin.create('/surveys', { title: 'Poison', status: 'ACTIVE' });
    // Who listens is told of the others.
    const hook = await admin.create('/webhooks', { url: 'http://127.0.0.1:1/', events: ['response.submitted'], surveyId: survey.id });
    const { redisUrl } = await sharedStores();
    const redis = createIntakeRedis(redisUrl, createLog('silent'));
    await redis.connect();
    const shard = createShards(2).of(survey.id);
    const poison = [`["${survey.id}","${newId()}","not a time",1]`, `["${survey.id}","${newId()}","not a time",1,0,1,1,0,-1,"en","",{},[],[]]`];
    for (const row of poison) await redis.xadd(shard.stream, '*', 'n', 1, 'codes', 0, 'surveys', survey.id, 'filled', '', 'rows', row);
    await redis.quit();
    for (let n = 0; n < 20; n += 1) assert.equal((await admin.submit(survey.id, { answers: [] })).status, 201);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${survey.id}`)).totalResponses, 20), 20_000);
    await eventually(async () => assert.equal((await admin.get(`/webhooks/${hook.id}/deliveries?limit=100`)).length, 20));
    const mine = async () => (await admin.get('/dead-letters')).filter((letter: any) => letter.surveyId === survey.id);
    const before = await eventually(async () => {
      const letters = await mine();
      assert.equal(letters.length, poison.length);
      return letters;
    });
    assert.ok(before[0].reason.length > 0);
    const { body } = await admin.call('GET', '/dead-letters?page=1&limit=1');
    assert.deepEqual([body.data.length, body.pagination.page, body.pagination.limit], [1, 1, 1]);
    assert.ok(body.pagination.total >= 1);
    assert.deepEqual((await admin.get(`/dead-letters?limit=1&page=${body.pagination.total + 1}`)), []);
    const pages: any[] = [];
    for (let page = 1; page <= body.pagination.total; page += 1) pages.push(...(await admin.get(`/dead-letters?limit=1&page=${page}`)));
    assert.deepEqual(pages, await admin.get('/dead-letters?limit=100'));
    for (const query of ['limit=0', 'page=0', 'zz=1']) assert.equal((await admin.call('GET', `/dead-letters?${query}`)).status, 400, query);
    assert.ok((await admin.post('/dead-letters/replay')).revived >= 1);
    await eventually(async () => {
      const [letter] = await mine();
      assert.ok(letter && letter.id !== before[0].id, 'it was tried again and came back under another id');
    });
    assert.equal((await admin.get(`/analytics/surveys/${survey.id}`)).totalResponses, 20);
  });
});
