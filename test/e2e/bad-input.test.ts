import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertRefused } from '../support/assert-refused.ts';
import type { Client } from '../support/client.ts';
import { createFullSurvey, type FullSurvey } from '../support/every-type.ts';
import { signInNewUser } from '../support/new-user.ts';
import type { RunningService } from '../support/service.ts';
import { assertWithin } from '../support/time-bars.ts';
import { useService } from '../support/use-service.ts';

describe('the API on bad input', () => {
  let service: RunningService;
  let admin: Client;
  let full: FullSurvey;
  useService((served) => ({ service, admin } = served));
  before(async () => {
    full = await createFullSurvey(admin);
  });
  after(() => {
    assert.ok(!service.logs().includes('"level":"error"'), 'nothing that a client sent was logged as an error of ours');
  });

  const refused = async (body: string | Buffer) =>
    assertRefused(await admin.submit(full.id, body), 400, 'VALIDATION_ERROR', body.toString().slice(0, 60));

  it('refuses bodies that are not submissions', async () => {
    for (const body of [
      '',
      'null',
      '[]',
      '"x"',
      '5',
      '{',
      '{"answers":[1,]}',
      '\ufeff{}',
      '{"answers":[]',
      "{'answers':[]}",
      '{"answers":{}}',
      '{}',
      '{"answers":null}',
    ])
      await refused(body);
  });

  it('refuses invalid Unicode, inexact numbers and prototype names', async () => {
    const number = full.questions.NUMBER.id;
    await refused(Buffer.concat([Buffer.from('{"answers":[],"respondent":"'), Buffer.from([0xff]), Buffer.from('"}')]));
    for (const body of [
      '{"answers":[],"respondent":"\\ud800"}',
      '{"answers":[],"respondent":"\\u0000"}',
      `{"answers":[{"questionId":"${number}","numberValue":1e999}]}`,
      `{"answers":[{"questionId":"${number}","numberValue":9007199254740993}]}`,
      `{"answers":[{"questionId":"${number}","numberValue":${'9'.repeat(400)}}]}`,
      '{"answers":[],"__proto__":{"admin":true}}',
      '{"answers":[{"questionId":"__proto__","textValue":"x"}]}',
      '{"answers":[{"questionId":"toString","textValue":"x"}]}',
      '{"answers":[],"constructor":{"prototype":{"admin":1}}}',
    ])
      await refused(body);
    assert.equal(({} as { admin?: boolean }).admin, undefined);
  });

  it('handles deep, wide and long input in time', async () => {
    const startedAt = performance.now();
    await refused(`{"answers":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    await refused(`{"answers":[],${Array.from({ length: 10_000 }, (_, n) => `"k${n}":1`).join(',')}}`);
    const wide = await admin.submit(
      full.id,
      `{"answers":[${Array.from({ length: 1000 }, () => '{"questionId":"x","textValue":"y"}').join(',')}]}`,
    );
    assert.ok(wide.status === 400 && wide.body.details.length <= 20);
    assertWithin(5000, performance.now() - startedAt);
  });

  it('refuses a question with more code positions than its survey may have, and stores no part of it', async () => {
    const survey = await admin.create('/surveys', { title: 'Wide' });
    const texts = (count: number) => Array.from({ length: count }, (_, n) => ({ text: `${n}` }));
    const grid = {
      type: 'MATRIX',
      text: 'Everything',
      options: texts(200),
      settings: { rows: texts(200), multiple: true },
    };
    const reply = await admin.call('POST', `/surveys/${survey.id}/questions`, { body: grid });
    assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR']);
    assert.match(reply.body.details[0].message, /2600 places .* 1000/);
    assert.deepEqual((await admin.get(`/surveys/${survey.id}`)).questions, []);
    const question = await admin.create(`/surveys/${survey.id}/questions`, {
      ...grid,
      settings: { rows: texts(70), multiple: true },
    });
    assert.equal(
      (await admin.call('PUT', `/surveys/questions/${question.id}`, { body: { settings: { rows: texts(80) } } }))
        .status,
      400,
    );
    assert.equal((await admin.get(`/surveys/${survey.id}`)).questions[0].settings.rows.length, 70);
  });

  it('finds a survey only by its id', async () => {
    for (const id of [
      '..',
      '%2e%2e%2f',
      '%00',
      'x'.repeat(8000),
      "1' OR '1'='1",
      full.id.toUpperCase(),
      randomUUID(),
      '%E0%A4%A',
    ]) {
      const reply = await admin.call('POST', `/responses/surveys/${id}/submit`, {
        body: { answers: [] },
        token: undefined,
      });
      // fetch resolves `..`: that path is another one, which takes no POST.
      const expected = id === '..' ? [405, 'METHOD_NOT_ALLOWED'] : [404, 'NOT_FOUND'];
      assert.deepEqual([reply.status, reply.body.code], expected, id.slice(0, 40));
    }
  });

  it('refuses NUL in queries and paths before a store is queried', async () => {
    for (const path of [
      '/surveys?search=a%00b',
      '/audit?objectKind=a%00b',
      '/surveys?sort=%00',
      `/responses/surveys/${full.id}?cursor=%00`,
    ]) {
      const reply = await admin.call('GET', path);
      assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR'], path);
    }
    for (const [method, path] of [
      ['DELETE', `/surveys/${full.id}/respondents/a%00b`],
      ['GET', `/surveys/${full.id}/translations/%00`],
    ] as const)
      assert.equal((await admin.call(method, path)).status, 404, path);
  });

  it('refuses times that no store can represent', async () => {
    for (const date of [
      '0000-01-01',
      '0000-12-31T23:59:59Z',
      '9999-12-31T23:59:59-23:59',
      '+012026-01-01T00:00:00Z',
      '2026-02-30',
    ]) {
      for (const path of [`/analytics/surveys/${full.id}`, `/responses/surveys/${full.id}`, '/ai/usage'])
        for (const name of ['startDate', 'endDate']) {
          const { status, body } = await admin.call('GET', `${path}?${name}=${encodeURIComponent(date)}`);
          // The end of a range is its last moment; past the last of all it is that one.
          if (name === 'endDate' && date.startsWith('9999')) assert.equal(status, 200, path);
          else assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR'], `${path} ${name} ${date}`);
        }
      for (const name of ['startsAt', 'endsAt'])
        assert.equal(
          (await admin.call('POST', '/surveys', { body: { title: 'x', [name]: date } })).status,
          400,
          `${name} ${date}`,
        );
    }
    for (const path of [`/analytics/surveys/${full.id}`, `/responses/surveys/${full.id}`])
      assert.equal((await admin.call('GET', `${path}?startDate=0001-01-01&endDate=9999-12-31`)).status, 200, path);
    const far = await admin.create('/surveys', {
      title: 'Far',
      status: 'ACTIVE',
      startsAt: '0001-01-01T00:00:00.000Z',
      endsAt: '9999-12-31T23:59:59.999Z',
    });
    assert.deepEqual([far.startsAt, far.endsAt], ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']);
    assert.equal((await admin.submit(far.id, { answers: [] })).status, 201);
  });

  it('refuses invalid fields, dates, languages, metadata and ids of a submission', async () => {
    for (const extra of [
      { startedAt: 'yesterday' },
      { startedAt: 5 },
      { language: 'en_US!' },
      { respondent: 'x'.repeat(201) },
      { respondent: 7 },
      { metadata: { a: 1 } },
      { metadata: [] },
      { metadata: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, 'v'])) },
      { isComplete: 'yes' },
      { responseId: 'mine' },
      { responseId: `{${full.id}}` },
      { resumeToken: 'x' },
    ]) {
      const reply = await admin.submit(full.id, { answers: [], ...extra });
      assert.equal(reply.status, 400, JSON.stringify(extra).slice(0, 60));
      assert.ok(Array.isArray(reply.body.details) && reply.body.details[0].path.length > 0);
    }
  });

  it('refuses unknown fields and query parameters on every route, by name', async () => {
    const created = await admin.call('POST', '/surveys', {
      body: { title: 'x', ownerId: randomUUID(), id: randomUUID(), colour: 1 },
    });
    assert.deepEqual(
      [created.status, created.body.details.map((item: any) => item.path).sort()],
      [400, ['colour', 'id', 'ownerId']],
    );
    for (const path of [
      '/surveys?page=0',
      '/surveys?limit=101',
      '/surveys?colour=red',
      `/responses/surveys/${full.id}?limit=1001`,
      `/responses/surveys/${full.id}?startDate=2024-02-30`,
      `/responses/surveys/${full.id}?startDate=2024-02-02&endDate=2024-02-01`,
      `/analytics/surveys/${full.id}?filter=nonsense`,
      '/surveys?status=OPEN',
    ])
      assert.equal((await admin.call('GET', path)).status, 400, path);
    for (const body of [
      {},
      { title: '' },
      { title: 'x'.repeat(301) },
      { title: 'x', responseQuota: 0 },
      { title: 'x', startsAt: '2026-01-02T00:00:00Z', endsAt: '2026-01-01T00:00:00Z' },
      { title: 'x', visibility: 'SECRET' },
      { title: 1 },
      [],
    ])
      assert.equal((await admin.call('POST', '/surveys', { body })).status, 400, JSON.stringify(body).slice(0, 50));
    assert.equal((await admin.call('POST', `/surveys/${full.id}/publish`, { body: { status: 'CLOSED' } })).status, 400);
    assert.equal(
      (
        await admin.call('POST', `/surveys/${full.id}/questions/reorder`, {
          body: { questionIds: [full.questions.NPS.id] },
        })
      ).status,
      400,
    );
    assert.equal(
      (
        await admin.call('POST', `/analytics/surveys/${full.id}/crosstab`, {
          body: { questionId1: full.questions.SHORT_TEXT.id, questionId2: full.questions.NPS.id },
        })
      ).status,
      400,
    );
  });

  it('reports objects of another owner as not found', async () => {
    const editor = await signInNewUser(service, admin);
    for (const [method, path] of [
      ['GET', `/surveys/${full.id}`],
      ['PUT', `/surveys/${full.id}`],
      ['DELETE', `/surveys/${full.id}`],
      ['GET', `/analytics/surveys/${full.id}`],
      ['GET', `/responses/surveys/${full.id}`],
      ['PUT', `/surveys/questions/${full.questions.NPS.id}`],
    ] as const) {
      const body = path.startsWith('/surveys/questions/') ? { text: 'x' } : { title: 'x' };
      assert.equal(
        (await editor.call(method, path, method === 'PUT' ? { body } : {})).status,
        404,
        `${method} ${path}`,
      );
    }
    assert.deepEqual((await editor.call('GET', '/surveys')).body.pagination.total, 0);
  });
});
