import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { answersOf, createFullSurvey, type FullSurvey } from '../support/every-type.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the main journey from survey to analytics', () => {
  let service: RunningService;
  let admin: Client;
  useService((served) => {
    ({ service, admin } = served);
  });

  const analytics = (id: string, query = '') => admin.get(`/analytics/surveys/${id}${query}`);
  const statistic = (data: any, full: FullSurvey, type: keyof FullSurvey['questions']) =>
    data.questionStats.find((item: any) => item.questionId === full.questions[type].id);
  const shown = (id: string, count: number) =>
    eventually(async () => {
      const data = await analytics(id);
      assert.equal(data.totalResponses, count);
      return data;
    });

  it('accepts answers to all seventeen question types and counts each', async () => {
    const full = await createFullSurvey(admin);
    const sent = 22;
    for (let n = 0; n < sent; n += 1) {
      const reply = await admin.submit(full.id, {
        answers: answersOf(full, n),
        startedAt: new Date(Date.now() - 60_000).toISOString(),
      });
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      assert.match(reply.body.data.responseId, /^[0-9a-f-]{36}$/);
      assert.equal(reply.body.data.isComplete, true);
    }
    const data = await shown(full.id, sent);
    assert.equal(data.completeResponses, sent);
    assert.equal(data.completionRate, 100);
    assert.ok(data.averageDuration >= 60 && data.averageDuration < 70, String(data.averageDuration));
    assert.ok(data.medianDuration >= 60 && data.medianDuration < 70, String(data.medianDuration));
    assert.equal(data.questionStats.length, 17);
    const of = (type: keyof FullSurvey['questions']) => statistic(data, full, type);
    assert.deepEqual(of('MULTIPLE_CHOICE').distribution, { red: 6, g: 5, blue: 6, __other__: 5 });
    assert.deepEqual(of('CHECKBOXES').distribution, { apple: 15, pear: 15, plum: 14 });
    assert.equal(of('CHECKBOXES').responseCount, sent);
    assert.deepEqual(of('DROPDOWN').distribution, { france: 11, italy: 11 });
    assert.deepEqual(of('RATING_SCALE').distribution, { 1: 5, 2: 5, 3: 4, 4: 4, 5: 4 });
    assert.deepEqual(
      Object.values(of('NPS').distribution),
      Array.from({ length: 11 }, () => 2),
    );
    assert.deepEqual(Object.keys(of('NPS').distribution), ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10']);
    assert.deepEqual(
      { ...of('NPS').nps, score: Math.round(of('NPS').nps.score) },
      { promoters: 4, passives: 4, detractors: 14, score: -45 },
    );
    assert.deepEqual(of('MATRIX').distribution, { food: { good: 11, bad: 11 }, service: { good: 11, bad: 11 } });
    assert.deepEqual(of('MATRIX').baseByRow, { food: 22, service: 22 });
    assert.deepEqual(of('RANKING').distribution, {
      one: { 1: 8, 2: 7, 3: 7 },
      two: { 1: 7, 2: 8, 3: 7 },
      three: { 1: 7, 2: 7, 3: 8 },
    });
    assert.deepEqual(of('RANKING').averageRank, { one: 43 / 22, two: 2, three: 45 / 22 });
    assert.equal(of('SHORT_TEXT').averageValue, null);
    assert.deepEqual(
      of('LONG_TEXT').topWords.find((item: any) => item.word === 'day'),
      { word: 'day', count: 2 * sent },
    );
    assert.deepEqual(of('EMAIL').distribution, { 'example.org': sent });
    assert.equal(of('NUMBER').minValue, 20);
    assert.equal(of('NUMBER').maxValue, 41);
    assert.equal(of('NUMBER').averageValue, 30.5);
    assert.deepEqual(of('DATE').distribution, { '2024-02-29': sent });
    assert.equal(of('TIME').distribution['23'], sent);
    assert.equal(of('FILE_UPLOAD').responseCount, 0);
    assert.equal(of('FILE_UPLOAD').skippedCount, sent);
    assert.equal(Object.keys(of('SLIDER').distribution).length, 20);
    assert.equal(of('SLIDER').maxValue, 21);
    assert.deepEqual(of('YES_NO').distribution, { yes: 11, no: 11 });
    assert.equal(
      Object.values<number>(of('LIKERT_SCALE').distribution).reduce((sum, count) => sum + count, 0),
      sent,
    );
    const one = await admin.get(`/analytics/surveys/${full.id}/questions/${full.questions.NPS.id}`);
    assert.deepEqual(one, of('NPS'));
  });

  it('crosses two questions and agrees with the counts', async () => {
    const full = await createFullSurvey(admin);
    for (let n = 0; n < 20; n += 1) await admin.submit(full.id, { answers: answersOf(full, n) });
    await shown(full.id, 20);
    const table = await admin.post(`/analytics/surveys/${full.id}/crosstab`, {
      questionId1: full.questions.YES_NO.id,
      questionId2: full.questions.CHECKBOXES.id,
    });
    assert.equal(table.total, 20);
    assert.deepEqual(
      table.rows.map((row: any) => [row.value, row.total]),
      [
        ['yes', 10],
        ['no', 10],
      ],
    );
    assert.equal(table.cells.length, 2);
    assert.equal(table.cells[0].length, 3);
    const independent = await admin.post(`/analytics/surveys/${full.id}/crosstab`, {
      questionId1: full.questions.YES_NO.id,
      questionId2: full.questions.DROPDOWN.id,
    });
    assert.deepEqual(
      independent.cells.map((row: any) => row.map((cell: any) => cell.count)),
      [
        [10, 0],
        [0, 10],
      ],
    );
    assert.equal(independent.chiSquare.statistic, 20);
    assert.equal(independent.chiSquare.degreesOfFreedom, 1);
    assert.ok(Math.abs(independent.cramersV - 1) < 1e-12);
    const filtered = await analytics(full.id, `?filter=${full.questions.YES_NO.id}:yes`);
    assert.equal(filtered.totalResponses, 10);
  });

  it('returns what was submitted, at once by id and in lists', async () => {
    const full = await createFullSurvey(admin);
    const answers = answersOf(full, 3);
    const { responseId } = (
      await admin.submit(full.id, { answers, respondent: 'panel-7', metadata: { source: 'mail' }, language: 'fr' })
    ).body.data;
    const record = await admin.get(`/responses/${responseId}`);
    assert.equal(record.surveyId, full.id);
    assert.equal(record.respondent, 'panel-7');
    assert.deepEqual(record.metadata, { source: 'mail' });
    assert.equal(record.language, 'fr');
    const text = (type: 'SHORT_TEXT' | 'LONG_TEXT') =>
      record.answers.find((item: any) => item.questionId === full.questions[type].id).textValue;
    assert.equal(text('SHORT_TEXT'), 'Zoë “3” 😀');
    assert.equal(text('LONG_TEXT'), 'It was\na long day, a good day.');
    assert.equal(record.answers.length, answers.length);
    const list = await eventually(async () => {
      const reply = await admin.call('GET', `/responses/surveys/${full.id}?limit=1`);
      assert.equal(reply.body.pagination.total, 1);
      return reply;
    });
    assert.deepEqual(list.body.data[0], record);
  });

  it('saves progress, merges question by question and completes once', async () => {
    const full = await createFullSurvey(admin);
    const { NPS, RATING_SCALE } = full.questions;
    const saved = (
      await admin.submit(full.id, { isComplete: false, answers: [{ questionId: NPS.id, numberValue: 3 }] })
    ).body.data;
    assert.equal(saved.isComplete, false);
    const go = (more: object) =>
      admin.submit(full.id, { responseId: saved.responseId, resumeToken: saved.resumeToken, ...more });
    const both = await Promise.all([
      go({ isComplete: false, answers: [{ questionId: NPS.id, numberValue: 9 }] }),
      go({ isComplete: false, answers: [{ questionId: RATING_SCALE.id, numberValue: 5 }] }),
    ]);
    assert.deepEqual(
      both.map((reply) => reply.status),
      [201, 201],
    );
    assert.equal(
      (await admin.submit(full.id, { responseId: saved.responseId, resumeToken: 'wrong', answers: [] })).status,
      403,
    );
    assert.equal((await go({ answers: [] })).status, 201);
    const late = await go({ answers: [{ questionId: NPS.id, numberValue: 1 }] });
    assert.deepEqual([late.status, late.body.details.reason], [409, 'ALREADY_COMPLETE']);
    const record = await admin.get(`/responses/${saved.responseId}`);
    assert.equal(record.isComplete, true);
    const value = (id: string) => record.answers.find((item: any) => item.questionId === id)?.numberValue;
    assert.deepEqual([value(NPS.id), value(RATING_SCALE.id)], [9, 5]);
    const data = await shown(full.id, 1);
    assert.equal(data.completeResponses, 1);
  });

  it('recognises repeats by key and by a client-made id', async () => {
    const full = await createFullSurvey(admin);
    const body = { answers: answersOf(full, 1) };
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => admin.submit(full.id, body, { 'idempotency-key': 'same' })),
    );
    assert.deepEqual(new Set(replies.map((reply) => reply.status)), new Set([201]));
    assert.equal(new Set(replies.map((reply) => JSON.stringify(reply.body))).size, 1);
    assert.equal(replies.filter((reply) => reply.headers.get('idempotent-replayed') === 'true').length, 49);
    const other = await admin.submit(full.id, { answers: answersOf(full, 2) }, { 'idempotency-key': 'same' });
    assert.deepEqual([other.status, other.body.details.reason], [409, 'IDEMPOTENCY_MISMATCH']);
    const responseId = randomUUID();
    assert.equal((await admin.submit(full.id, { responseId, ...body })).body.data.responseId, responseId);
    assert.equal((await admin.submit(full.id, { ...body, responseId })).headers.get('idempotent-replayed'), 'true');
    assert.equal(
      (await admin.submit(full.id, { responseId, answers: [] })).body.details.reason,
      'IDEMPOTENCY_MISMATCH',
    );
    await shown(full.id, 2);
  });

  it('closes at the quota exactly and opens again when it is raised', async () => {
    const full = await createFullSurvey(admin, { responseQuota: 10 });
    const body = { answers: answersOf(full, 0) };
    const replies = await Promise.all(Array.from({ length: 60 }, () => admin.submit(full.id, body)));
    assert.equal(replies.filter((reply) => reply.status === 201).length, 10);
    assert.ok(
      replies
        .filter((reply) => reply.status !== 201)
        .every((reply) => reply.status === 409 && reply.body.details.reason === 'QUOTA_REACHED'),
    );
    await eventually(async () => assert.equal((await admin.get(`/surveys/${full.id}`)).status, 'CLOSED'));
    assert.equal((await admin.submit(full.id, body)).body.details.reason, 'QUOTA_REACHED');
    await admin.put(`/surveys/${full.id}`, { responseQuota: 11, status: 'ACTIVE' });
    assert.equal((await admin.submit(full.id, body)).status, 201);
    assert.equal((await admin.submit(full.id, body)).body.details.reason, 'QUOTA_REACHED');
  });

  it('deletes a response everywhere and frees its seat', async () => {
    const full = await createFullSurvey(admin);
    const { responseId } = (await admin.submit(full.id, { answers: answersOf(full, 0) })).body.data;
    await admin.submit(full.id, { answers: answersOf(full, 1) });
    assert.deepEqual(await admin.remove(`/responses/${responseId}`), { id: responseId, deleted: true });
    assert.equal((await admin.call('GET', `/responses/${responseId}`)).status, 404);
    assert.equal((await admin.call('DELETE', `/responses/${responseId}`)).status, 404);
    await shown(full.id, 1);
    assert.equal((await admin.get(`/surveys/${full.id}`)).responseCount, 1);
  });

  it('takes submissions only while the survey is open', async () => {
    const full = await createFullSurvey(admin);
    const body = { answers: answersOf(full, 0) };
    const reason = async () => (await admin.submit(full.id, body)).body.details?.reason;
    await admin.put(`/surveys/${full.id}`, { status: 'PAUSED' });
    assert.equal(await reason(), 'SURVEY_NOT_ACTIVE');
    await admin.put(`/surveys/${full.id}`, { status: 'ACTIVE', startsAt: new Date(Date.now() + 60_000).toISOString() });
    assert.equal(await reason(), 'SURVEY_NOT_OPEN_YET');
    const endsIn = (ms: number) => new Date(Date.now() + ms).toISOString();
    await admin.put(`/surveys/${full.id}`, { startsAt: null, endsAt: endsIn(3_600_000) });
    assert.equal((await admin.submit(full.id, body)).status, 201);
    await admin.put(`/surveys/${full.id}`, { endsAt: endsIn(1000) });
    await eventually(async () => assert.equal(await reason(), 'SURVEY_ENDED'));
    assert.equal((await admin.get(`/surveys/${full.id}`)).status, 'CLOSED');
    await admin.remove(`/surveys/${full.id}`);
    assert.equal((await admin.submit(full.id, body)).status, 404);
  });

  it('allows new wording but no new meaning once a question has answers', async () => {
    const full = await createFullSurvey(admin);
    const { DROPDOWN, NPS } = full.questions;
    await admin.submit(full.id, { answers: [{ questionId: DROPDOWN.id, optionId: DROPDOWN.options[0]?.id }] });
    const retype = await admin.call('PUT', `/surveys/questions/${DROPDOWN.id}`, { body: { type: 'NPS' } });
    assert.deepEqual([retype.status, retype.body.details.reason], [409, 'HAS_RESPONSES']);
    assert.equal((await admin.put(`/surveys/questions/${DROPDOWN.id}`, { text: 'Which land?' })).text, 'Which land?');
    assert.equal((await admin.put(`/surveys/questions/${NPS.id}`, { type: 'YES_NO' })).type, 'YES_NO');
    const before = await admin.get(`/surveys/${full.id}`);
    await admin.remove(`/surveys/${full.id}/questions/${DROPDOWN.id}`);
    const after = await admin.get(`/surveys/${full.id}`);
    assert.equal(after.version, before.version + 1);
    assert.deepEqual(
      after.questions.map((question: any) => question.order),
      after.questions.map((_: unknown, index: number) => index),
    );
  });

  it('reports all problems of a submission at once, each with its path', async () => {
    const full = await createFullSurvey(admin);
    const reply = await admin.submit(full.id, {
      answers: [
        { questionId: full.questions.NPS.id, numberValue: 11 },
        { questionId: 'nobody', textValue: 'x' },
        { questionId: full.questions.EMAIL.id, textValue: 'no' },
      ],
      colour: 'red',
    });
    assert.equal(reply.status, 400);
    assert.equal(reply.body.code, 'VALIDATION_ERROR');
    const paths = reply.body.details.map((item: any) => item.path);
    for (const path of ['colour', 'answers.0.numberValue', 'answers.1.questionId', 'answers.2.textValue'])
      assert.ok(paths.includes(path), `${path} in ${paths}`);
  });

  it('limits submissions by address and survey, with headers on every reply', async () => {
    const survey = await admin.create('/surveys', { title: 'Limited', status: 'ACTIVE', submissionRateLimit: 60 });
    const begunAt = Date.now() / 1000;
    const replies = await Promise.all(Array.from({ length: 80 }, () => admin.submit(survey.id, { answers: [] })));
    const endedAt = Date.now() / 1000;
    assert.equal(replies.filter((reply) => reply.status === 201).length, 60);
    const refused = replies.find((reply) => reply.status === 429);
    assert.equal(refused?.body.code, 'RATE_LIMITED');
    assert.ok(Number(refused?.headers.get('retry-after')) > 0);
    for (const reply of replies) {
      assert.equal(reply.headers.get('x-ratelimit-limit'), '60');
      assert.ok(Number(reply.headers.get('x-ratelimit-remaining')) >= 0);
      // The window begins with the first of them.
      const windowEnd = Number(reply.headers.get('x-ratelimit-reset'));
      assert.ok(windowEnd > begunAt + 50 && windowEnd < endedAt + 70, `${windowEnd - begunAt} s`);
    }
  });

  it('opens a PRIVATE survey only to its token', async () => {
    const survey = await admin.create('/surveys', { title: 'Private', visibility: 'PRIVATE', status: 'ACTIVE' });
    for (const given of [{}, { surveyToken: 'wrong' }]) {
      const { status, body } = await admin.submit(survey.id, { answers: [], ...given });
      assert.deepEqual([status, body.details], [403, { reason: 'SURVEY_TOKEN_NEEDED' }]);
    }
    assert.equal(
      (await admin.submit(survey.id, { answers: [] }, { 'x-survey-token': survey.accessToken })).status,
      201,
    );
    assert.equal((await admin.submit(survey.id, { answers: [], surveyToken: survey.accessToken })).status, 201);
  });

  it('requires a token on every other route', async () => {
    const nobody = createClient(service);
    for (const [method, path] of [
      ['GET', '/surveys'],
      ['POST', '/surveys'],
      ['GET', `/responses/${randomUUID()}`],
      ['GET', `/analytics/surveys/${randomUUID()}`],
    ] as const) {
      const reply = await nobody.call(method, path);
      assert.deepEqual(
        [reply.status, reply.body.code, reply.headers.get('www-authenticate')],
        [401, 'UNAUTHORIZED', 'Bearer'],
      );
    }
  });
});
