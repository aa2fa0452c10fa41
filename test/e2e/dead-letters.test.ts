import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId, newResponseId } from '../../src/platform/ids.ts';
import { answersKey, createShards, responseKey } from '../../src/stores/redis/intake/shards.ts';
import type { Stores } from '../../src/stores/stores.ts';
import { adminClient, type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import { type RunningService, startService } from '../support/service.ts';
import { openStoresOf } from '../support/service-stores.ts';
import { sharedStores } from '../support/stores.ts';

describe('responses that ClickHouse cannot read', () => {
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

  it('become dead letters with a reason, delay no others, and can be requeued', async () => {
    const survey = await admin.create('/surveys', { title: 'Poison', status: 'ACTIVE' });
    // Live clients get the other responses.
    const hook = await admin.create('/webhooks', {
      url: 'http://127.0.0.1:1/',
      events: ['response.submitted'],
      surveyId: survey.id,
    });
    const { redisUrl } = await sharedStores();
    const redis = await openPatientRedis(redisUrl);
    const shard = createShards(2).of(survey.id);
    const poison = [
      `["${survey.id}","${newId()}","not a time",1]`,
      `["${survey.id}","${newId()}","not a time",1,0,1,1,0,-1,"en","",{},[],[]]`,
    ];
    for (const row of poison)
      await redis.xadd(shard.stream, '*', 'n', 1, 'codes', 0, 'surveys', survey.id, 'filled', '', 'rows', row);
    await redis.quit();
    for (let n = 0; n < 20; n += 1) assert.equal((await admin.submit(survey.id, { answers: [] })).status, 201);
    await eventually(
      async () => assert.equal((await admin.get(`/analytics/surveys/${survey.id}`)).totalResponses, 20),
      20_000,
    );
    await eventually(async () =>
      assert.equal((await admin.get(`/webhooks/${hook.id}/deliveries?limit=100`)).length, 20),
    );
    const mine = async () =>
      (await admin.get('/dead-letters?limit=100')).filter((letter: any) => letter.surveyId === survey.id);
    const before = await eventually(async () => {
      const letters = await mine();
      assert.equal(letters.length, poison.length);
      return letters;
    });
    assert.ok(before[0].reason.length > 0);
    const { body } = await admin.call('GET', '/dead-letters?page=1&limit=1');
    assert.deepEqual([body.data.length, body.pagination.page, body.pagination.limit], [1, 1, 1]);
    assert.ok(body.pagination.total >= 1);
    assert.deepEqual(await admin.get(`/dead-letters?limit=1&page=${body.pagination.total + 1}`), []);
    const pages: any[] = [];
    for (let page = 1; page <= body.pagination.total; page += 1)
      pages.push(...(await admin.get(`/dead-letters?limit=1&page=${page}`)));
    assert.deepEqual(pages, await admin.get('/dead-letters?limit=100'));
    for (const query of ['limit=0', 'page=0', 'zz=1'])
      assert.equal((await admin.call('GET', `/dead-letters?${query}`)).status, 400, query);
    assert.ok((await admin.post('/dead-letters/replay')).revived >= 1);
    await eventually(async () => {
      const [letter] = await mine();
      assert.ok(letter && letter.id !== before[0].id, 'it was tried again and came back under another id');
    });
    assert.equal((await admin.get(`/analytics/surveys/${survey.id}`)).totalResponses, 20);
  });

  it('are requeued by an API key as by that key, in the audit too', async () => {
    const { id: keyId, key } = await admin.create('/api-keys', { name: 'Requeues', role: 'ADMIN' });
    await createClient(service, key).post('/dead-letters/replay');
    await eventually(async () => {
      const [entry] = await admin.get('/audit?action=dead-letters.replayed&limit=1');
      assert.deepEqual([entry.actorKind, entry.keyId], ['API_KEY', keyId]);
    });
  });

  describe('dead letters of a survey with stored responses', () => {
    let stores: Stores;
    before(async () => {
      stores = await openStoresOf(service);
    });
    after(() => stores.close());

    const shardOf = (surveyId: string) => stores.shards.of(surveyId);
    /** A response's newest row as it was accepted. */
    const rowOf = async (surveyId: string, responseId: string): Promise<string> => {
      const entries = await stores.stream.readRange(shardOf(surveyId), String(Date.now() - 60_000), '+', 1_000_000);
      return (
        entries
          .flatMap(({ rows }) => rows.toString().split('\n'))
          .findLast((row) => row.startsWith(`["${surveyId}","${responseId}"`)) ?? assert.fail()
      );
    };
    const bury = (surveyId: string, row: string) =>
      stores.intakeRedis.xadd(`${shardOf(surveyId).prefix}dead`, '*', 'reason', 'for this test', 'rows', row);
    const surveyWith = async (type: string) => {
      const { id } = await admin.create('/surveys', { title: 'Buried', status: 'ACTIVE' });
      return { id, questionId: (await admin.create(`/surveys/${id}/questions`, { type, text: 'What?' })).id as string };
    };

    for (const [what, keys] of [
      ['the answers of', [answersKey]],
      ['everything about', [answersKey, responseKey]],
    ] as const)
      it(`a response that is a dead letter is continued after the intake has evicted ${what} it, and merges when it is requeued`, async () => {
        const { id, questionId } = await surveyWith('SHORT_TEXT');
        const save = (text: string, more: object = {}) =>
          admin.submit(id, { isComplete: false, answers: [{ questionId, textValue: text }], ...more });
        const { responseId, resumeToken } = (await save('first')).body.data;
        assert.equal((await save('second', { responseId, resumeToken })).status, 201);
        // The third save becomes a dead letter.
        await bury(id, (await rowOf(id, responseId)).replace(',2,0,', ',3,0,').replace('second', 'third'));
        await stores.intakeRedis.hset(responseKey(responseId), 'n', 3);
        await stores.intakeRedis.del(...keys.map((key) => key(responseId)));
        const done = await admin.submit(id, { responseId, resumeToken, answers: [] });
        assert.equal(done.status, 201, JSON.stringify(done.body));
        const textOf = async () => (await admin.get(`/responses/${responseId}`)).answers[0].textValue;
        assert.equal(await textOf(), 'third');
        assert.ok((await admin.post('/dead-letters/replay')).revived >= 1);
        assert.deepEqual([(await admin.get(`/responses/${responseId}`)).isComplete, await textOf()], [true, 'third']);
        assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 1);
      });

    it('deleted dead letters are not requeued, neither a whole response nor a completion', async () => {
      const { id, questionId } = await surveyWith('SHORT_TEXT');
      const answers = [{ questionId, textValue: 'private' }];
      const { responseId, resumeToken } = (await admin.submit(id, { isComplete: false, answers })).body.data;
      const row = await rowOf(id, responseId);
      assert.equal((await admin.submit(id, { responseId, resumeToken, answers })).status, 201);
      // The response store has only the first save.
      const other = newResponseId();
      await bury(id, row.replace(responseId, other));
      assert.equal((await admin.call('GET', `/responses/${other}`)).status, 404);
      for (const each of [other, responseId])
        assert.equal((await admin.call('DELETE', `/responses/${each}`)).status, 200);
      assert.equal((await admin.call('DELETE', `/responses/${other}`)).status, 404);
      await admin.post('/dead-letters/replay');
      await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 0));
      assert.equal((await admin.call('GET', `/responses/${other}`)).status, 404);
    });

    it('questions that only dead letters answer keep their meaning', async () => {
      const { id, questionId } = await surveyWith('NPS');
      const { responseId } = (await admin.submit(id, { answers: [{ questionId, numberValue: 9 }] })).body.data;
      const row = await rowOf(id, responseId);
      await admin.remove(`/responses/${responseId}`);
      const other = newResponseId();
      await bury(id, row.replace(responseId, other));
      const edited = await admin.call('PUT', `/surveys/questions/${questionId}`, { body: { type: 'RATING_SCALE' } });
      assert.deepEqual(
        [edited.status, edited.body.details?.reason],
        [409, 'HAS_RESPONSES'],
        JSON.stringify(edited.body),
      );
      assert.ok((await admin.post('/dead-letters/replay')).revived >= 1);
      assert.deepEqual(
        (await admin.get(`/responses/${other}`)).answers.map((answer: any) => answer.numberValue),
        [9],
      );
    });
  });
});
