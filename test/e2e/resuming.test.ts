import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { answersKey, responseKey } from '../../src/stores/redis/intake/shards.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { answersOf, createFullSurvey, type FullSurvey } from '../support/every-type.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { useService } from '../support/use-service.ts';

describe('resuming a response long after it was saved', () => {
  let service: RunningService;
  let admin: Client;
  let redis: Redis;
  let survey: FullSurvey;
  before(async () => void (await sharedStores()));
  useService((served) => {
    ({ service, admin } = served);
  });
  before(async () => {
    redis = await openPatientRedis((await sharedStores()).redisUrl);
    survey = await createFullSurvey(admin, { responseQuota: 50 });
  });
  after(async () => void (await redis.quit()));

  const upload = async (): Promise<string> => {
    const reply = await fetch(
      `${service.base}/uploads/surveys/${survey.id}/questions/${survey.questions.FILE_UPLOAD.id}`,
      { method: 'POST', body: new Uint8Array(png) },
    );
    assert.equal(reply.status, 201);
    return ((await reply.json()) as any).data.uploadId;
  };
  /** As time does, of the answers first and then of everything. */
  const forget = {
    answers: (id: string) => redis.del(answersKey(id)),
    everything: (id: string) => redis.del(answersKey(id), responseKey(id)),
  };

  it('takes back the saved answers that a later save clears', async () => {
    const { MATRIX, NPS, SHORT_TEXT, YES_NO } = survey.questions;
    const saved = await admin.submit(survey.id, { isComplete: false, answers: answersOf(survey, 5) });
    const { responseId, resumeToken } = saved.body.data;
    const more = { responseId, resumeToken, isComplete: false };
    const cleared = await admin.submit(survey.id, {
      ...more,
      answers: [{ questionId: NPS.id, numberValue: 1 }],
      cleared: [NPS.id, SHORT_TEXT.id, MATRIX.id],
    });
    assert.equal(cleared.status, 201, JSON.stringify(cleared.body));
    const { answers } = await admin.get(`/responses/${responseId}`);
    const answered = (id: string) => answers.filter(({ questionId }: { questionId: string }) => questionId === id);
    assert.deepEqual([answered(SHORT_TEXT.id), answered(MATRIX.id)], [[], []]);
    assert.deepEqual(answered(NPS.id), [{ questionId: NPS.id, numberValue: 1 }]);
    assert.equal(answered(YES_NO.id).length, 1);
    for (const wrong of [[randomUUID()], 'x', [1]])
      assert.equal((await admin.submit(survey.id, { ...more, answers: [], cleared: wrong })).status, 400);
  });

  for (const [what, letGo] of Object.entries(forget))
    it(`merges with all that was saved after the intake has evicted its ${what}`, async () => {
      const startedAt = new Date(Date.now() - 90_000).toISOString();
      const answers = [
        ...answersOf(survey, 3),
        { questionId: survey.questions.FILE_UPLOAD.id, textValue: await upload() },
      ];
      const saved = await admin.submit(survey.id, {
        isComplete: false,
        startedAt,
        language: 'de',
        respondent: `guest of ${what}`,
        metadata: { from: 'page 1', kept: 'ä "b"' },
        answers,
      });
      assert.equal(saved.status, 201, JSON.stringify(saved.body));
      const { responseId, resumeToken, submittedAt } = saved.body.data;
      const before = await admin.get(`/responses/${responseId}`);
      assert.equal(await letGo(responseId), what === 'answers' ? 1 : 2);
      const more = {
        responseId,
        resumeToken,
        metadata: { from: 'page 2' },
        answers: [{ questionId: survey.questions.NPS.id, numberValue: 10 }],
      };
      const continued = await admin.submit(survey.id, { ...more, isComplete: false });
      assert.deepEqual(
        [continued.status, continued.body.data?.submittedAt],
        [201, submittedAt],
        JSON.stringify(continued.body),
      );
      await letGo(responseId);
      const done = await admin.submit(survey.id, { responseId, resumeToken, answers: [] });
      assert.equal(done.status, 201, JSON.stringify(done.body));
      const after = await admin.get(`/responses/${responseId}`);
      const expected = before.answers.map((answer: any) =>
        answer.questionId === survey.questions.NPS.id ? { ...answer, numberValue: 10 } : answer,
      );
      assert.deepEqual(
        { ...after, completedAt: null },
        {
          ...before,
          isComplete: true,
          outcome: 'COMPLETED',
          completedAt: null,
          durationSeconds: (Date.parse(after.completedAt) - Date.parse(startedAt)) / 1000,
          metadata: { from: 'page 2', kept: 'ä "b"' },
          answers: expected,
        },
      );
      assert.equal(before.durationSeconds, (Date.parse(submittedAt) - Date.parse(startedAt)) / 1000);
      await letGo(responseId);
      const late = await admin.submit(survey.id, { responseId, resumeToken, metadata: { too: 'late' }, answers: [] });
      assert.deepEqual([late.status, late.body.details?.reason], [409, 'ALREADY_COMPLETE']);
      assert.equal((await admin.get(`/responses/${responseId}`)).version, after.version);
    });

  it('goes on by the version of the last save, also by one before all conditions and shuffled orders', async () => {
    /** Conditions of the second question, until it is published and after the part is saved; and a shuffled section. */
    const surveys: { before?: object; isShuffled?: boolean; after?: object }[] = [
      { after: { operator: 'answered' } },
      { before: { operator: 'answered' } },
      { isShuffled: true },
    ];
    for (const { before, isShuffled, after } of surveys)
      for (const letGo of [async () => 0, forget.answers]) {
        const { id } = await admin.create('/surveys', { title: 'Changed since' });
        const add = (body: object) => admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', ...body });
        const one = await add({ text: 'One' });
        const two = await add({ text: 'Two' });
        const set = (condition?: object) =>
          admin.put(`/surveys/questions/${two.id}`, {
            visibleIf: condition ? { questionId: one.id, ...condition } : null,
          });
        if (before) await set(before);
        if (before) await set();
        if (isShuffled) await admin.create(`/surveys/${id}/sections`, { title: 'Shuffled', isShuffled });
        await admin.post(`/surveys/${id}/publish`);
        const { version } = await admin.get(`/surveys/${id}`);
        const answers = [{ questionId: two.id, textValue: 'kept' }];
        const { responseId, resumeToken } = (await admin.submit(id, { isComplete: false, answers })).body.data;
        if (after) await set(after);
        await add({ text: 'Three', isRequired: true });
        await letGo(responseId);
        const done = await admin.submit(id, { responseId, resumeToken, answers: [] });
        assert.deepEqual([done.status, done.body.data?.ignored], [201, undefined], JSON.stringify(done.body));
        const stored = await admin.get(`/responses/${responseId}`);
        assert.deepEqual([stored.surveyVersion, stored.answers], [version, answers]);
      }
  });

  it('counts one response, and takes a seat at its completion', async () => {
    const { id } = await admin.create('/surveys', { title: 'Seats', responseQuota: 1, status: 'ACTIVE' });
    const { responseId, resumeToken } = (await admin.submit(id, { isComplete: false, answers: [] })).body.data;
    assert.equal(await forget.everything(responseId), 2);
    const both = await Promise.all(
      [1, 2].map((n) =>
        admin.submit(id, { responseId, resumeToken, isComplete: false, metadata: { [`m${n}`]: 'here' }, answers: [] }),
      ),
    );
    assert.deepEqual(
      both.map(({ status }) => status),
      [201, 201],
    );
    assert.deepEqual((await admin.get(`/responses/${responseId}`)).metadata, { m1: 'here', m2: 'here' });
    await forget.everything(responseId);
    assert.equal((await admin.submit(id, { responseId, resumeToken, answers: [] })).status, 201);
    assert.equal((await admin.submit(id, { answers: [] })).body.details?.reason, 'QUOTA_REACHED');
    assert.equal((await admin.get(`/surveys/${id}`)).responseCount, 1);
  });

  it('is refused after the response was deleted', async () => {
    const { id } = await admin.create('/surveys', { title: 'Deleted', status: 'ACTIVE' });
    const { responseId, resumeToken } = (await admin.submit(id, { isComplete: false, answers: [] })).body.data;
    await admin.remove(`/responses/${responseId}`);
    for (const letGo of [async () => 0, forget.everything]) {
      await letGo(responseId);
      const { status, body } = await admin.submit(id, { responseId, resumeToken, answers: [] });
      assert.deepEqual([status, body.details?.reason], [404, 'RESPONSE_NOT_FOUND']);
    }
    const guessed = await admin.submit(id, { responseId, resumeToken: 'guessed', answers: [] });
    assert.deepEqual([guessed.status, guessed.body.details?.reason], [403, 'WRONG_RESUME_TOKEN']);
    assert.equal((await admin.get(`/surveys/${id}`)).responseCount, 0);
  });

  it('repeats the reply to the first save', async () => {
    const { id } = await admin.create('/surveys', { title: 'Repeated', status: 'ACTIVE' });
    const responseId = randomUUID();
    const first = { responseId, isComplete: false, answers: [], metadata: { page: '1' } };
    const saved = await admin.submit(id, first);
    const { resumeToken } = saved.body.data;
    for (const body of [
      { responseId, resumeToken, isComplete: false, answers: [], metadata: { page: '2' } },
      { responseId, resumeToken, answers: [] },
    ]) {
      const continued = await admin.submit(id, body);
      assert.equal(continued.status, 201);
      for (const [repeat, reply] of [
        [first, saved],
        [body, continued],
      ] as const) {
        const again = await admin.submit(id, repeat);
        const isContinued = repeat === body && !('isComplete' in body);
        if (isContinued) continue;
        assert.deepEqual(
          [again.status, again.headers.get('idempotent-replayed'), again.body.data],
          [201, 'true', reply.body.data],
        );
      }
    }
    assert.equal((await admin.get(`/surveys/${id}`)).responseCount, 1);
  });

  it('saves what was said before and is said again, also once the intake has let the response go', async () => {
    const { id } = await admin.create('/surveys', { title: 'Said again', status: 'ACTIVE' });
    const { id: questionId } = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Say' });
    const { responseId, resumeToken } = (await admin.submit(id, { isComplete: false, answers: [] })).body.data;
    const save = (textValue: string) =>
      admin.submit(id, { responseId, resumeToken, isComplete: false, answers: [{ questionId, textValue }] });
    for (const isLetGo of [false, true]) {
      for (const textValue of ['yes', 'no', 'yes']) {
        const saved = await save(textValue);
        assert.deepEqual([saved.status, saved.headers.get('idempotent-replayed')], [201, null]);
        await eventually(async () =>
          assert.equal((await admin.get(`/responses/${responseId}`)).answers[0].textValue, textValue),
        );
        if (isLetGo) await forget.everything(responseId);
      }
      assert.equal((await save('yes')).headers.get('idempotent-replayed'), 'true');
      await save('neither');
    }
  });

  it('changes the counts, also while the response stays open', async () => {
    const { id, questions } = await createFullSurvey(admin);
    const average = async () =>
      (await admin.get(`/analytics/surveys/${id}/questions/${questions.NPS.id}`)).averageValue;
    const save = async (numberValue: number, continued: object = {}) => {
      const { status, body } = await admin.submit(id, {
        ...continued,
        isComplete: false,
        answers: [{ questionId: questions.NPS.id, numberValue }],
      });
      assert.equal(status, 201, JSON.stringify(body));
      // Waits until it is stored.
      await admin.get(`/responses/${body.data.responseId}`);
      return body.data;
    };
    const { responseId, resumeToken } = await save(3);
    assert.equal(await average(), 3);
    await save(9, { responseId, resumeToken });
    assert.equal(await average(), 9);
  });
});
