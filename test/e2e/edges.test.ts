import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { hashOfKey, hashOfResponseId } from '../../src/stores/redis/intake/idempotency.ts';
import { answersKey, responseKey } from '../../src/stores/redis/intake/shards.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { everyRoute } from '../support/every-route.ts';
import { forgetRecord, forgetUse } from '../support/intake.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import { sharedStores } from '../support/stores.ts';
import { useService } from '../support/use-service.ts';

const { api } = await everyRoute();

const pathOf = (reply: { body: any }): string | undefined => reply.body.details?.[0]?.path;

describe('limits of accepted input', () => {
  let admin: Client;
  before(async () => void (await sharedStores()));
  useService((served) => {
    ({ admin } = served);
  });

  describe('texts of a survey', () => {
    const tried = async (body: object, id?: string) => {
      const reply = await (id === undefined
        ? admin.call('POST', '/surveys', { body })
        : admin.call('PUT', `/surveys/${id}`, { body }));
      return reply.status === 400 ? `refused: ${pathOf(reply)}` : reply.status;
    };

    it('a title has 1 to 300 characters and a description up to 5000, at creation and change', async () => {
      const { id } = await admin.create('/surveys', { title: 'Edges' });
      assert.deepEqual(
        [await tried({ title: '' }), await tried({ title: '' }, id)],
        ['refused: title', 'refused: title'],
      );
      for (const length of [1, 300])
        assert.deepEqual(
          [await tried({ title: 'x'.repeat(length) }), await tried({ title: 'x'.repeat(length) }, id)],
          [201, 200],
          `${length}`,
        );
      assert.deepEqual(
        [await tried({ title: 'x'.repeat(301) }), await tried({ title: 'x'.repeat(301) }, id)],
        ['refused: title', 'refused: title'],
      );
      for (const length of [0, 5000])
        assert.deepEqual(
          [
            await tried({ title: 'x', description: 'y'.repeat(length) }),
            await tried({ description: 'y'.repeat(length) }, id),
          ],
          [201, 200],
          `${length}`,
        );
      assert.deepEqual(
        [
          await tried({ title: 'x', description: 'y'.repeat(5001) }),
          await tried({ description: 'y'.repeat(5001) }, id),
        ],
        ['refused: description', 'refused: description'],
      );
      const { title, description } = await admin.get(`/surveys/${id}`);
      assert.deepEqual(
        [title.length, description.length],
        [300, 5000],
        'nothing was cut, and nothing that was refused is kept',
      );
    });
  });

  describe('pages of lists', () => {
    it('pages have 1 to 100 items, of responses up to 1000, and begin with 1, on every route that lists', async () => {
      const { id: surveyId } = await admin.create('/surveys', { title: 'Listed', status: 'ACTIVE' });
      const { id: questionId } = await admin.create(`/surveys/${surveyId}/questions`, {
        type: 'LONG_TEXT',
        text: 'Why?',
      });
      const { id: hookId } = await admin.create('/webhooks', {
        url: 'https://93.184.216.34/',
        events: ['quota.reached'],
        surveyId,
      });
      const { id: collectorId } = await admin.create(`/surveys/${surveyId}/collectors`, {
        name: 'List',
        kind: 'INVITATION',
      });
      const lists = api.filter(({ method, isPaged }) => method === 'GET' && isPaged === true);
      assert.ok(lists.length >= 12, `${lists.length} lists`);
      for (const { path } of lists) {
        const filled = path
          .replace('{surveyId}', surveyId)
          .replace('{questionId}', questionId)
          .replace('{collectorId}', collectorId)
          .replace('{id}', path.startsWith('/webhooks') ? hookId : surveyId);
        const ask = async (query: string) => {
          const reply = await admin.call('GET', `${filled}?${query}`);
          return reply.status === 200
            ? [reply.body.pagination.page, reply.body.pagination.limit]
            : `refused: ${pathOf(reply)}`;
        };
        const most = path.endsWith('/texts') ? 200 : path.startsWith('/responses/') ? 1000 : 100;
        assert.deepEqual(await ask(''), [1, 20], path);
        assert.deepEqual(
          [await ask('limit=0'), await ask('limit=1'), await ask(`limit=${most}`), await ask(`limit=${most + 1}`)],
          ['refused: limit', [1, 1], [1, most], 'refused: limit'],
          path,
        );
        assert.deepEqual(
          [await ask('page=0'), await ask('page=1'), await ask('page=2')],
          ['refused: page', [1, 20], [2, 20]],
          path,
        );
      }
      await admin.remove(`/webhooks/${hookId}`);
    });
  });

  describe('idempotency keys', () => {
    const openSurvey = async (): Promise<string> =>
      (await admin.create('/surveys', { title: 'Keys', status: 'ACTIVE' })).id;
    const send = async (surveyId: string, key: string, metadata: object = {}) => {
      const reply = await admin.submit(surveyId, { answers: [], metadata }, { 'idempotency-key': key });
      return {
        status: reply.status,
        isReplay: reply.headers.get('idempotent-replayed') === 'true',
        responseId: reply.body.data?.responseId,
        path: pathOf(reply),
        reason: reply.body.details?.reason,
      };
    };

    it('a key has 1 to 255 visible ASCII characters, all of which count', async () => {
      const surveyId = await openSurvey();
      for (const key of ['!', '~'.repeat(255), `${'~'.repeat(254)}!`]) {
        const [first, again] = [await send(surveyId, key), await send(surveyId, key)];
        assert.deepEqual(
          [first.status, first.isReplay, again.status, again.isReplay, again.responseId],
          [201, false, 201, true, first.responseId],
          key.slice(0, 5),
        );
      }
      for (const key of ['', '~'.repeat(256), 'a b', 'a\tb', '\u0080', 'é']) {
        const refused = await send(surveyId, key);
        // Names of headers are compared without case.
        const path = String(refused.path).toLowerCase();
        assert.deepEqual([refused.status, path], [400, 'idempotency-key'], JSON.stringify(key.slice(0, 5)));
      }
      assert.equal((await admin.get(`/surveys/${surveyId}`)).responseCount, 3);
    });

    describe('old idempotency keys and ids', () => {
      let redis: Redis;
      before(async () => {
        redis = await openPatientRedis((await sharedStores()).redisUrl);
      });
      after(async () => void (await redis.quit()));

      it('a key gives the same reply for two days, also from the response store, and is new after that', async () => {
        const [surveyId, key] = [await openSurvey(), randomUUID()];
        const hash = hashOfKey(surveyId, key);
        const first = await send(surveyId, key);
        await eventually(async () =>
          assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, 1),
        );
        await forgetRecord(redis, hash);
        assert.deepEqual(await send(surveyId, key), { ...first, isReplay: true });
        assert.equal((await send(surveyId, key, { another: 'body' })).reason, 'IDEMPOTENCY_MISMATCH');
        await forgetUse(redis, hash);
        const second = await send(surveyId, key, { another: 'body' });
        assert.deepEqual([second.status, second.isReplay], [201, false]);
        assert.notEqual(second.responseId, first.responseId);
        assert.equal((await admin.get(`/surveys/${surveyId}`)).responseCount, 2);
      });

      it('a client’s response id is recognised for two days, for whole and partial responses', async () => {
        const surveyId = await openSurvey();
        const [whole, open] = [randomUUID(), randomUUID()];
        const save = (body: object) => admin.submit(surveyId, { answers: [], ...body });
        const [first, part] = [await save({ responseId: whole }), await save({ responseId: open, isComplete: false })];
        const { resumeToken } = part.body.data;
        await save({ responseId: open, resumeToken, isComplete: false, metadata: { page: '2' } });
        await eventually(async () =>
          assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, 2),
        );
        for (const id of [whole, open]) {
          await forgetRecord(redis, hashOfResponseId(id));
          await redis.del(responseKey(id), answersKey(id));
        }
        const again = async (body: object) => {
          const reply = await save(body);
          return [
            reply.status,
            reply.headers.get('idempotent-replayed'),
            reply.body.data?.submittedAt ?? reply.body.details?.reason,
          ];
        };
        assert.deepEqual(await again({ responseId: whole }), [201, 'true', first.body.data.submittedAt]);
        assert.deepEqual(await again({ responseId: whole, language: 'de' }), [409, null, 'IDEMPOTENCY_MISMATCH']);
        assert.deepEqual(
          await again({ responseId: open, isComplete: false }),
          [201, 'true', part.body.data.submittedAt],
          'its first save',
        );
        assert.deepEqual(
          await again({ responseId: open, resumeToken, isComplete: false, metadata: { page: '2' } }),
          [201, 'true', part.body.data.submittedAt],
          'its last one',
        );
        assert.deepEqual(await again({ responseId: open, resumeToken, metadata: { page: '3' } }), [
          201,
          null,
          part.body.data.submittedAt,
        ]);
        assert.equal((await admin.get(`/surveys/${surveyId}`)).responseCount, 2);
        assert.deepEqual((await admin.get(`/responses/${open}`)).metadata, { page: '3' });
      });
    });
  });
});
