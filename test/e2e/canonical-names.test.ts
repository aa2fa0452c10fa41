import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { finishedExport } from '../support/exports.ts';
import { useService } from '../support/use-service.ts';

let admin: Client;
useService(
  (served) => {
    ({ admin } = served);
  },
  { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } },
);

const statusOf = async (method: string, path: string, body?: unknown): Promise<number> =>
  (await admin.call(method, path, { body })).status;

describe('languages', () => {
  it('are stored in canonical form: a survey has no translation into its own language, and responses are counted together', async () => {
    const survey = await admin.create('/surveys', { title: 'Lunch', language: 'EN', status: 'ACTIVE' });
    assert.equal(survey.language, 'en');
    assert.equal(await statusOf('PUT', `/surveys/${survey.id}/translations/en`, { title: 'second english' }), 400);
    assert.equal(await statusOf('PUT', `/surveys/${survey.id}/translations/zh-hans`, { title: '午餐' }), 200);
    assert.equal((await admin.get(`/surveys/${survey.id}/translations/ZH-HANS`)).language, 'zh-Hans');
    assert.equal((await admin.put(`/surveys/${survey.id}`, { language: 'de-at' })).language, 'de-AT');
    const { responseId } = (await admin.submit(survey.id, { answers: [], language: 'ZH-hans' })).body.data;
    assert.equal((await admin.get(`/responses/${responseId}`)).language, 'zh-Hans');
  });
});

describe('a translation', () => {
  it('is refused if it names one text twice, and nothing is stored', async () => {
    const survey = await admin.create('/surveys', { title: 'Lunch' });
    const question = await admin.create(`/surveys/${survey.id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Which?',
      options: [{ text: 'Soup' }],
    });
    const path = `/surveys/${survey.id}/translations/de`;
    const twice = await admin.call('PUT', path, {
      body: {
        questions: [
          { id: question.id, text: 'Welche?' },
          { id: question.id, text: 'Was?' },
        ],
      },
    });
    assert.deepEqual(
      [twice.status, twice.body.details],
      [400, [{ path: 'questions.1.id', message: 'is given twice' }]],
    );
    const option = { id: question.options[0].id, text: 'Suppe' };
    const again = await admin.call('PUT', path, {
      body: { questions: [{ id: question.id, options: [option, option] }] },
    });
    assert.deepEqual(
      [again.status, again.body.details],
      [400, [{ path: 'questions.0.options.1.id', message: 'is given twice' }]],
    );
    assert.equal(await statusOf('GET', path), 404);
  });
});

describe('the address of a webhook', () => {
  it('is stored as it is requested: an ASCII URL in normal form', async () => {
    const pairs = [
      ['http://münchen.example.com/', 'http://xn--mnchen-3ya.example.com/'],
      ['http:8.8.8.8', 'http://8.8.8.8/'],
      ['http:///8.8.8.8', 'http://8.8.8.8/'],
      ['http://8.8.8.8:080', 'http://8.8.8.8/'],
      ['https://Example.com/ä?ö=|#{', 'https://example.com/%C3%A4?%C3%B6=%7C#%7B'],
      ['https://example.com/a%zz', 'https://example.com/a%25zz'],
      ['https://example.com/a%20b?c=d&e=%2F', 'https://example.com/a%20b?c=d&e=%2F'],
      ['http://[::1]:4000/x', 'http://[::1]:4000/x'],
    ] as const;
    for (const [given, kept] of pairs) {
      const hook = await admin.create('/webhooks', { url: given, events: ['quota.reached'] });
      assert.equal(hook.url, kept);
      assert.equal((await admin.put(`/webhooks/${hook.id}`, { url: given })).url, kept);
      assert.equal((await admin.put(`/webhooks/${hook.id}`, { description: 'the same' })).url, kept);
    }
  });
});

describe('the maximum length of a webhook address', () => {
  const events = ['quota.reached'];
  const chinese = (count: number) => `https://e.example/${'漢'.repeat(count)}`;

  it('counts the percent-encoded form, at creation and change', async () => {
    // 18 characters, and nine for each of the Chinese ones.
    const hook = await admin.create('/webhooks', { url: chinese(225), events });
    assert.equal(hook.url.length, 2043);
    for (const [method, path] of [
      ['POST', '/webhooks'],
      ['PUT', `/webhooks/${hook.id}`],
    ] as const)
      for (const url of [chinese(226), chinese(700)]) {
        const reply = await admin.call(method, path, { body: { url, events } });
        assert.deepEqual(
          [reply.status, reply.body.details],
          [400, [{ path: 'url', message: 'must have at most 2048 characters, percent-encoded' }]],
        );
      }
    assert.equal((await admin.get(`/webhooks/${hook.id}`)).url, hook.url);
  });
});

describe('a respondent', () => {
  it('is refused if the erasure call could not name it; an empty text counts as none', async () => {
    const survey = await admin.create('/surveys', { title: 'Lunch', status: 'ACTIVE' });
    for (const respondent of [' ', '\t\u00a0', '.', '..']) {
      const reply = await admin.submit(survey.id, { answers: [], respondent });
      assert.deepEqual([reply.status, reply.body.details?.[0]?.path], [400, 'respondent'], JSON.stringify(respondent));
    }
    const nobody = await admin.submit(survey.id, { answers: [], respondent: '' });
    assert.equal(nobody.status, 201);
    assert.equal((await admin.get(`/responses/${nobody.body.data.responseId}`)).respondent, null);
    for (const respondent of ['...', '.a', 'a/b', 'ü %', ' Ann ']) {
      assert.equal((await admin.submit(survey.id, { answers: [], respondent })).status, 201);
      assert.equal(
        (await admin.remove(`/surveys/${survey.id}/respondents/${encodeURIComponent(respondent)}`)).responses,
        1,
        respondent,
      );
    }
  });

  it('a client-made response id is refused if it is the nil or max UUID, which clients send for unset fields', async () => {
    const survey = await admin.create('/surveys', { title: 'Lunch', status: 'ACTIVE' });
    for (const responseId of [
      '00000000-0000-0000-0000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
      'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
    ]) {
      const reply = await admin.submit(survey.id, { answers: [], responseId });
      assert.deepEqual([reply.status, reply.body.details?.[0]?.path], [400, 'responseId'], responseId);
    }
  });
});

describe('the columns of a file', () => {
  it('keep the names of response fields, whatever the wording of a question', async () => {
    const survey = await admin.create('/surveys', { title: 'Lunch', status: 'ACTIVE' });
    for (const text of ['metadata', 'id', 'surveyId', 'Well?', 'Well?'])
      await admin.create(`/surveys/${survey.id}/questions`, { type: 'NUMBER', text });
    await admin.submit(survey.id, { answers: [] });
    const { exportId } = await admin.expect(202, 'POST', `/exports/surveys/${survey.id}`, { format: 'CSV' });
    assert.equal((await finishedExport(admin, exportId)).status, 'COMPLETED');
    const file = (await admin.call('GET', `/exports/${exportId}/download`)).body as string;
    const headings = file.split('\r\n', 1)[0]?.split(',');
    assert.deepEqual(headings, [
      'id',
      'surveyVersion',
      'submittedAt',
      'completedAt',
      'isComplete',
      'durationSeconds',
      'language',
      'respondent',
      'outcome',
      'metadata (2)',
      'id (2)',
      'surveyId (2)',
      'Well?',
      'Well? (2)',
      'metadata',
    ]);
  });
});
