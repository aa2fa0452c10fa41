import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { finishedExport } from '../support/exports.ts';
import type { RunningService } from '../support/service.ts';
import { openStoresOf } from '../support/service-stores.ts';
import { sharedStores } from '../support/stores.ts';
import { useService } from '../support/use-service.ts';

let service: RunningService;
let admin: Client;
await sharedStores();
useService((served) => {
  ({ service, admin } = served);
});

describe('a survey that grows', () => {
  it('takes no further questions beyond 2 MiB, but can be answered and made smaller', async () => {
    const { id } = await admin.create('/surveys', { title: 'Growing', status: 'ACTIVE' });
    const body = {
      type: 'DROPDOWN',
      text: 'Which?',
      options: Array.from({ length: 200 }, (_, n) => ({ text: 'я'.repeat(500), value: `v${n}` })),
    };
    const replies = [];
    for (let n = 0; n < 11; n += 1) replies.push(await admin.call('POST', `/surveys/${id}/questions`, { body }));
    const refused = replies.filter(({ status }) => status !== 201);
    assert.ok(refused.length > 0 && replies[0]?.status === 201);
    for (const { status, body: said } of refused)
      assert.deepEqual([status, said.code, said.details[0].path], [400, 'VALIDATION_ERROR', '']);
    const { questions, version } = await admin.get(`/surveys/${id}`);
    assert.equal(questions.length, 11 - refused.length);
    assert.equal(version, 1 + questions.length);
    assert.equal(
      (await admin.submit(id, { answers: [{ questionId: questions[0].id, optionId: questions[0].options[0].id }] }))
        .status,
      201,
    );
    await admin.put(`/surveys/questions/${questions[1].id}`, {
      options: questions[1].options.map((option: any) => ({ ...option, text: 'short' })),
    });
    assert.equal(
      (await admin.call('POST', `/surveys/${id}/questions`, { body: { type: 'NPS', text: 'Well?' } })).status,
      201,
    );
  });
});

describe('a translation that grows', () => {
  it('takes no further texts beyond 4 MiB, but can be read, shown, copied and made smaller', async () => {
    const { id } = await admin.create('/surveys', { title: 'Growing', status: 'ACTIVE' });
    const path = `/surveys/${id}/translations/ru`;
    /** Of removed parts, as versions without the limit have stored them. */
    const texts = Array.from({ length: 420 }, (_, n) => [`${n}.text`, { text: 'я'.repeat(5000), source: '' }]);
    const stores = await openStoresOf(service);
    await stores.surveys.change(id, async (_, tx) => {
      const strings = { ...Object.fromEntries(texts), title: { text: 'Рост', source: '' } };
      await stores.translations.mergeIn(tx, { surveyId: id, language: 'ru', strings, removedKeys: [], at: new Date() });
      return undefined;
    });
    await stores.close();
    const refused = await admin.call('PUT', path, { body: { title: 'Растёт' } });
    assert.deepEqual([refused.status, refused.body.code], [400, 'VALIDATION_ERROR']);
    assert.match(refused.body.details[0].message, /^the texts in ru, .* and may take 4194304: /);
    assert.equal((await admin.get(path)).title, 'Рост');
    assert.equal((await admin.get(`/public/surveys/${id}?lang=ru`)).title, 'Рост');
    await admin.create(`/surveys/${id}/duplicate`);
    assert.equal((await admin.put(path, { title: null })).title, undefined);
  });
});

describe('a MATRIX of as many choices as a survey has positions for', () => {
  it('is answered, counted, crossed and exported', async () => {
    const list = (count: number) => Array.from({ length: count }, (_, n) => ({ text: `${n}`, value: `v${n}` }));
    const { id } = await admin.create('/surveys', { title: 'Wide', status: 'ACTIVE' });
    const define = (rows: number) =>
      admin.call('POST', `/surveys/${id}/questions`, {
        body: { type: 'MATRIX', text: 'Which?', options: list(200), settings: { multiple: true, rows: list(rows) } },
      });
    assert.equal((await define(77)).status, 400);
    const reply = await define(76);
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    const { id: questionId, options, settings } = reply.body.data;
    const rows: { id: string }[] = settings.rows;
    for (const shift of [0, 1, 1]) {
      const answers = rows.map(({ id: rowId }, n) => ({ questionId, rowId, optionId: options[n + shift].id }));
      assert.equal((await admin.submit(id, { answers })).status, 201);
    }
    const { questionStats } = await eventually(async () => {
      const analytics = await admin.get(`/analytics/surveys/${id}`);
      assert.equal(analytics.totalResponses, 3);
      return analytics;
    }, 30_000);
    assert.deepEqual([questionStats[0].distribution.v75.v75, questionStats[0].distribution.v75.v76], [1, 2]);
    const [rowId1, rowId2] = [rows[0]?.id, rows[75]?.id];
    const crossed = await admin.expect(200, 'POST', `/analytics/surveys/${id}/crosstab`, {
      questionId1: questionId,
      rowId1,
      questionId2: questionId,
      rowId2,
    });
    assert.deepEqual([crossed.total, crossed.cells[1][76].count], [3, 2]);
    const { exportId } = await admin.expect(202, 'POST', `/exports/surveys/${id}`, {
      format: 'CSV',
      missing: 'labelled',
    });
    const { status, rowCount } = await finishedExport(admin, exportId, 240_000);
    assert.deepEqual([status, rowCount], ['COMPLETED', 3]);
  });
});
