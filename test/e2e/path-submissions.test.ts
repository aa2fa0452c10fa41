import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { newId } from '../../src/platform/ids.ts';
import { hashOfKey, hashOfResponseId } from '../../src/stores/redis/intake/idempotency.ts';
import { answersKey, responseKey } from '../../src/stores/redis/intake/shards.ts';
import type { Client } from '../support/client.ts';
import { assertConforms } from '../support/conform.ts';
import { eventually } from '../support/eventually.ts';
import { forgetRecord } from '../support/intake.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import { sharedStores } from '../support/stores.ts';
import { useService } from '../support/use-service.ts';

describe('submissions to a survey with paths', () => {
  let admin: Client;
  useService((served) => {
    ({ admin } = served);
  });

  /** Has a car? → which one, which fuels; adults only. */
  const carSurvey = async () => {
    const { id } = await admin.create('/surveys', { title: 'Cars' });
    const add = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const age = await add({
      type: 'NUMBER',
      text: 'Age',
      isRequired: true,
      settings: { min: 0, max: 120, integer: true },
    });
    const car = await add({ type: 'YES_NO', text: 'Do you have a car?', isRequired: true });
    const [yes, no] = car.options;
    const make = await add({
      type: 'SHORT_TEXT',
      text: 'Which one?',
      isRequired: true,
      visibleIf: { questionId: car.id, operator: 'isAnyOf', optionIds: [yes.id] },
    });
    const fuel = await add({
      type: 'CHECKBOXES',
      text: 'Fuels',
      options: [
        { text: 'Petrol', visibleIf: { questionId: car.id, operator: 'isAnyOf', optionIds: [yes.id] } },
        { text: 'None' },
      ],
    });
    const last = await add({ type: 'SHORT_TEXT', text: 'Anything else?' });
    await admin.put(`/surveys/questions/${age.id}`, {
      skips: [{ if: { questionId: age.id, operator: 'between', max: 17 }, to: 'SCREEN_OUT' }],
    });
    await admin.post(`/surveys/${id}/publish`);
    const answer = {
      age: (numberValue: number) => ({ questionId: age.id, numberValue }),
      car: (has: boolean) => ({ questionId: car.id, optionId: has ? yes.id : no.id }),
      make: (textValue: string) => ({ questionId: make.id, textValue }),
      fuel: (index: number) => ({ questionId: fuel.id, optionId: fuel.options[index].id }),
      last: (textValue: string) => ({ questionId: last.id, textValue }),
    };
    return { id: String(id), age, car, make, fuel, last, answer };
  };
  const submitted = async (surveyId: string, body: object) => {
    const reply = await admin.submit(surveyId, body);
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    assertConforms('POST /responses/surveys/{surveyId}/submit', reply);
    return reply.body.data;
  };
  const stored = async (responseId: string) => {
    const response = await admin.get(`/responses/${responseId}`);
    return { outcome: response.outcome, questions: response.answers.map((one: any) => one.questionId) };
  };

  it('do not need what was never shown, and need what was', async () => {
    const { id, answer, make } = await carSurvey();
    const without = await submitted(id, { answers: [answer.age(40), answer.car(false)] });
    assert.deepEqual([without.isComplete, without.outcome], [true, 'COMPLETED']);
    const refused = await admin.submit(id, { answers: [answer.age(40), answer.car(true)] });
    assert.equal(refused.status, 400);
    assert.deepEqual(
      refused.body.details.map((issue: any) => issue.path),
      [`answers.${make.id}`],
    );
  });

  it('say, one by one, which questions were not asked, beside those that were not answered', async () => {
    const { id, answer, make, fuel, last } = await carSurvey();
    const notAsked = async (responseId: string) => {
      const reply = await admin.call('GET', `/responses/${responseId}?include=notAsked`);
      assertConforms('GET /responses/{responseId}', reply);
      return reply.body.data.notAsked;
    };
    const whole = await submitted(id, { answers: [answer.age(40), answer.car(false)] });
    assert.deepEqual(await notAsked(whole.responseId), [make.id]);
    const part = await submitted(id, { answers: [answer.age(40), answer.car(true)], isComplete: false });
    assert.deepEqual(await notAsked(part.responseId), [make.id, fuel.id, last.id]);
    const added = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Added later' });
    assert.deepEqual(await notAsked(whole.responseId), [make.id, added.id]);
  });

  it('leave out answers off the path and say so, or refuse them if asked to be strict', async () => {
    const { id, answer, make } = await carSurvey();
    const answers = [answer.age(40), answer.car(false), answer.make('Trabant')];
    const reply = await submitted(id, { answers });
    assert.deepEqual(reply.ignored, [{ questionId: make.id, reason: 'NOT_ON_PATH' }]);
    const found = await stored(reply.responseId);
    assert.ok(!found.questions.includes(make.id));
    const strict = await admin.submit(id, { answers, strict: true });
    assert.equal(strict.status, 400);
    assert.deepEqual(strict.body.details, [{ path: 'answers.2', message: 'is not on the path' }]);
  });

  it('refuse an option that is hidden on the path', async () => {
    const { id, answer } = await carSurvey();
    const reply = await admin.submit(id, { answers: [answer.age(40), answer.car(false), answer.fuel(0)] });
    assert.equal(reply.status, 400);
    assert.deepEqual(reply.body.details, [{ path: 'answers.2.optionId', message: 'is not offered on this path' }]);
    await submitted(id, { answers: [answer.age(40), answer.car(false), answer.fuel(1)] });
  });

  it('screen out: stored, complete, without a seat, left out of the statistics', async () => {
    const { id, answer, age } = await carSurvey();
    await admin.put(`/surveys/${id}`, { responseQuota: 1 });
    const out = await submitted(id, { answers: [answer.age(12), answer.last('no')] });
    assert.deepEqual([out.isComplete, out.outcome], [true, 'SCREENED_OUT']);
    assert.deepEqual(await stored(out.responseId), { outcome: 'SCREENED_OUT', questions: [age.id] });
    await submitted(id, { answers: [answer.age(40), answer.car(false)] });
    assert.equal((await admin.submit(id, { answers: [answer.age(40), answer.car(false)] })).status, 409);
    await eventually(async () => {
      const { outcomes, questionStats } = await admin.get(`/analytics/surveys/${id}`);
      assert.deepEqual(outcomes, { PARTIAL: 0, COMPLETED: 1, SCREENED_OUT: 1, OVER_QUOTA: 0 });
      assert.deepEqual(
        questionStats.map((one: any) => [one.responseCount, one.skippedCount, one.notAskedCount]),
        [
          [1, 0, 0],
          [1, 0, 0],
          [0, 0, 1],
          [0, 1, 0],
          [0, 1, 0],
        ],
      );
    });
  });

  it('that screen out in parts stay open until they are completed, and may still come back', async () => {
    const { id, answer } = await carSurvey();
    const open = async (age: number) => {
      const saved = await submitted(id, { responseId: newId(), isComplete: false, answers: [answer.age(age)] });
      assert.deepEqual([saved.isComplete, saved.outcome], [false, 'PARTIAL']);
      assert.equal((await admin.get(`/responses/${saved.responseId}`)).outcome, 'PARTIAL');
      return { responseId: saved.responseId, resumeToken: saved.resumeToken };
    };
    const out = await submitted(id, { ...(await open(12)), answers: [answer.last('no')] });
    assert.deepEqual([out.isComplete, out.outcome, out.ignored?.length], [true, 'SCREENED_OUT', 1]);
    const back = await submitted(id, { ...(await open(12)), answers: [answer.age(40), answer.car(false)] });
    assert.deepEqual([back.isComplete, back.outcome], [true, 'COMPLETED']);
  });

  it('keep in a partial save what later answers may bring back on the path', async () => {
    const { id, answer, make, age, car } = await carSurvey();
    const responseId = newId();
    const { resumeToken } = await submitted(id, {
      responseId,
      isComplete: false,
      answers: [answer.make('Trabant'), answer.car(false)],
    });
    const done = await submitted(id, { responseId, resumeToken, answers: [answer.age(30), answer.car(true)] });
    assert.deepEqual([done.outcome, done.ignored], ['COMPLETED', undefined]);
    assert.deepEqual((await stored(responseId)).questions, [age.id, car.id, make.id]);
  });

  it('are judged by the version that the respondent saw', async () => {
    const { id, answer, make, last } = await carSurvey();
    const { version } = await admin.get(`/surveys/${id}`);
    await admin.put(`/surveys/questions/${last.id}`, { isRequired: true });
    const answers = [answer.age(40), answer.car(false)];
    assert.equal((await admin.submit(id, { answers })).status, 400, 'the new version needs one more');
    const seen = await submitted(id, { answers, surveyVersion: version });
    assert.equal((await admin.get(`/responses/${seen.responseId}`)).surveyVersion, version);
    await submitted(id, { answers: [...answers, answer.last('no')], surveyVersion: version + 1 });
    const never = await admin.submit(id, { answers, surveyVersion: version + 2 });
    assert.deepEqual([never.status, never.body.details[0].path], [400, 'surveyVersion']);
    const reword = (n: number) => admin.put(`/surveys/questions/${make.id}`, { text: `Which one? ${n}` });
    for (let n = 0; n < 19; n += 1) await reword(n);
    await submitted(id, { answers, surveyVersion: version });
    const { responseId, resumeToken } = await submitted(id, { answers, surveyVersion: version, isComplete: false });
    await reword(20);
    const gone = await admin.submit(id, { answers, surveyVersion: version });
    assert.deepEqual([gone.status, gone.body.details.reason], [409, 'VERSION_GONE']);
    // What was saved by it can only go on by a version that is still known.
    const saved = { responseId, resumeToken, answers: [answer.age(40)] };
    const late = await admin.submit(id, saved);
    assert.deepEqual([late.status, late.body.details.reason], [409, 'VERSION_GONE']);
    await submitted(id, { ...saved, answers: [answer.last('no')], surveyVersion: version + 21 });
  });

  it('are replayed with the same reply', async () => {
    const { id, answer } = await carSurvey();
    const body = { answers: [answer.age(40), answer.car(false), answer.make('Trabant')] };
    const headers = { 'idempotency-key': 'a-key-of-this-test-only' };
    const [first, again] = [
      await admin.call('POST', `/responses/surveys/${id}/submit`, { body, headers }),
      await admin.call('POST', `/responses/surveys/${id}/submit`, { body, headers }),
    ];
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(again.body, first.body);
  });

  it('go on by the version of the last save, also if the survey has no conditions any more', async () => {
    const { id, answer, age, make, fuel } = await carSurvey();
    const responseId = newId();
    const { resumeToken } = await submitted(id, {
      responseId,
      isComplete: false,
      answers: [answer.age(40), answer.car(false)],
    });
    const { version } = await admin.get(`/surveys/${id}`);
    await admin.put(`/surveys/questions/${age.id}`, { skips: [] });
    await admin.put(`/surveys/questions/${make.id}`, { visibleIf: null });
    await admin.put(`/surveys/questions/${fuel.id}`, {
      options: fuel.options.map(({ id: optionId, text }: any) => ({ id: optionId, text, visibleIf: null })),
    });
    const now = await admin.get(`/surveys/${id}`);
    assert.ok(!JSON.stringify(now.questions).includes('operator'), JSON.stringify(now.questions));
    const done = await submitted(id, { responseId, resumeToken, answers: [answer.last('no')] });
    assert.equal(done.outcome, 'COMPLETED');
    assert.equal((await admin.get(`/responses/${responseId}`)).surveyVersion, version);
  });

  it('that go on say so when the version of the last save does not know the question', async () => {
    const { id, answer } = await carSurvey();
    const { responseId, resumeToken } = await submitted(id, { isComplete: false, answers: [answer.age(40)] });
    const { version } = await admin.get(`/surveys/${id}`);
    const added = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Added' });
    const goesOn = {
      responseId,
      resumeToken,
      isComplete: false,
      answers: [{ questionId: added.id, numberValue: 9 }],
    };
    const refused = await admin.submit(id, goesOn);
    assert.deepEqual(
      [refused.status, refused.body.details],
      [
        400,
        [
          { path: 'answers.0.questionId', message: 'is not a question of this survey' },
          {
            path: 'surveyVersion',
            message: `is left out, so version ${version} of the last save counts; name the one that the respondent saw`,
          },
        ],
      ],
    );
    await submitted(id, { ...goesOn, surveyVersion: version + 1 });
  });

  it('by a former version replace what a later one saved, and may go on beside the rest of it', async () => {
    const { id } = await admin.create('/surveys', { title: 'Grows' });
    const add = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const labels = (count: number) => Array.from({ length: count }, (_, index) => ({ text: `o${index + 1}` }));
    const ranking = await add({ type: 'RANKING', text: 'Order', options: labels(2) });
    const ticks = await add({ type: 'CHECKBOXES', text: 'One', options: labels(16), settings: { maxSelections: 1 } });
    const choice = await add({ type: 'MULTIPLE_CHOICE', text: 'Which?', options: labels(2) });
    const chosen = ({ id: questionId, options }: any, index: number, rank?: number) => ({
      questionId,
      optionId: options[index].id,
      ...(rank && { rank }),
    });
    const visibleIf = { questionId: choice.id, operator: 'isAnyOf', optionIds: [choice.options[0].id] };
    const why = await add({ type: 'SHORT_TEXT', text: 'Why?', visibleIf });
    await admin.post(`/surveys/${id}/publish`);
    const { version } = await admin.get(`/surveys/${id}`);
    const grow = async (question: any, options: object) =>
      (await admin.call('PUT', `/surveys/questions/${question.id}`, { body: options })).body.data;
    const grownRanking = await grow(ranking, { options: [...ranking.options, { text: 'o3' }] });
    const grownTicks = await grow(ticks, { options: [...ticks.options, { text: 'o17' }] });
    await grow(choice, { settings: { allowOther: true } });

    const other = { questionId: choice.id, textValue: 'another' };
    const later = [chosen(grownRanking, 2, 1), chosen(grownRanking, 0, 2), chosen(grownTicks, 16), other];
    const { responseId, resumeToken } = await submitted(id, { isComplete: false, answers: later });
    const next = { responseId, resumeToken, surveyVersion: version };
    const former = [chosen(ranking, 1, 1), chosen(ranking, 0, 2), chosen(ticks, 0)];
    await submitted(id, { ...next, isComplete: false, answers: former });
    const answersOf = async () => (await admin.get(`/responses/${responseId}`)).answers;
    assert.deepEqual(await answersOf(), [...former, other]);
    const last = [chosen(choice, 0), { questionId: why.id, textValue: 'so' }];
    await submitted(id, { ...next, answers: last });
    assert.deepEqual(await answersOf(), [...former, ...last]);
  });

  it('that end a response which was saved before are replayed with the same reply', async () => {
    const { id, answer, make } = await carSurvey();
    const responseId = newId();
    const saved = await submitted(id, {
      responseId,
      isComplete: false,
      answers: [answer.age(40), answer.car(true), answer.make('Trabant')],
    });
    const end = { responseId, resumeToken: saved.resumeToken, answers: [answer.car(false)] };
    const [first, again] = [await admin.submit(id, end), await admin.submit(id, end)];
    assert.deepEqual(first.body.data.ignored, [{ questionId: make.id, reason: 'NOT_ON_PATH' }]);
    assert.deepEqual(again.body, first.body);
  });

  it('are replayed with the same reply after the survey has changed', async () => {
    const { id, answer, last, make } = await carSurvey();
    const responseId = newId();
    const body = { responseId, answers: [answer.age(40), answer.car(false), answer.make('Trabant')] };
    const first = await admin.submit(id, body);
    assert.deepEqual(first.body.data.ignored, [{ questionId: make.id, reason: 'NOT_ON_PATH' }]);
    await admin.put(`/surveys/questions/${last.id}`, { isRequired: true });
    assert.deepEqual((await admin.submit(id, body)).body, first.body);
  });

  it('are replayed with the same reply after the ignored question was deleted', async () => {
    const { id, answer, make } = await carSurvey();
    const body = { responseId: newId(), answers: [answer.age(40), answer.car(false), answer.make('Trabant')] };
    const first = await admin.submit(id, body);
    assert.deepEqual(first.body.data.ignored, [{ questionId: make.id, reason: 'NOT_ON_PATH' }]);
    await admin.remove(`/surveys/${id}/questions/${make.id}`);
    assert.deepEqual((await admin.submit(id, body)).body, first.body);
  });

  it('are replayed with the same reply after the survey got its first condition', async () => {
    const { id } = await admin.create('/surveys', { title: 'Plain', status: 'ACTIVE' });
    const add = (text: string) => admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text });
    const [one, other] = [await add('One'), await add('Other')];
    const answers = [{ questionId: other.id, textValue: 'yes' }];
    const saved = { responseId: newId(), isComplete: false, answers };
    const bodies = [{ responseId: newId(), answers }, saved];
    const first = [];
    for (const body of bodies) first.push((await admin.submit(id, body)).body);
    await admin.put(`/surveys/questions/${other.id}`, { visibleIf: { questionId: one.id, operator: 'answered' } });
    for (const [n, body] of bodies.entries()) assert.deepEqual((await admin.submit(id, body)).body, first[n]);
  });

  describe('whose record only the response store has', () => {
    let redis: Redis;
    before(async () => {
      redis = await openPatientRedis((await sharedStores()).redisUrl);
    });
    after(async () => {
      await redis.quit();
      await (await sharedStores()).stop();
    });
    /** As an hour later. */
    const forget = async (surveyId: string, responseId: string, key: string, responses: number) => {
      await eventually(async () =>
        assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, responses),
      );
      for (const hash of [hashOfResponseId(responseId), hashOfKey(surveyId, key)]) await forgetRecord(redis, hash);
      await redis.del(responseKey(responseId), answersKey(responseId));
    };

    it('are replayed with the same reply, although the path is another now', async () => {
      const { id, answer, car, make } = await carSurvey();
      const [responseId, key] = [randomUUID(), randomUUID()];
      const body = { responseId, answers: [answer.age(40), answer.car(false), answer.make('Trabant')] };
      const first = await admin.submit(id, body, { 'idempotency-key': key });
      assert.deepEqual(first.body.data.ignored, [{ questionId: make.id, reason: 'NOT_ON_PATH' }]);
      const saved = {
        responseId: randomUUID(),
        isComplete: false,
        answers: [answer.make('Wartburg'), answer.car(true)],
      };
      const { resumeToken } = await submitted(id, saved);
      const end = { responseId: saved.responseId, resumeToken, answers: [answer.age(40), answer.car(false)] };
      const last = await admin.submit(id, end);
      assert.equal(last.body.data.ignored.length, 1);
      await admin.put(`/surveys/questions/${make.id}`, {
        visibleIf: { questionId: car.id, operator: 'answered' },
        isRequired: false,
      });
      await forget(id, responseId, key, 2);
      await forget(id, saved.responseId, '', 2);
      assert.deepEqual((await admin.submit(id, body, { 'idempotency-key': key })).body, first.body);
      assert.deepEqual((await admin.submit(id, body)).body, first.body);
      assert.deepEqual((await admin.submit(id, end)).body, last.body);
    });

    it('name the quota that was full then', async () => {
      const { id, answer, car } = await carSurvey();
      const where = { questionId: car.id, operator: 'answered' };
      const make = (name: string, limit: number) => admin.create(`/surveys/${id}/quotas`, { name, limit, where });
      const [full, later] = [await make('Full', 0), await make('Later', 9)];
      await eventually(async () =>
        assert.ok((await admin.get(`/surveys/${id}/quotas`)).every((quota: any) => !quota.isCounting)),
      );
      const [responseId, key] = [randomUUID(), randomUUID()];
      const body = { responseId, answers: [answer.age(40), answer.car(false)] };
      const first = await admin.submit(id, body, { 'idempotency-key': key });
      assert.deepEqual(first.body.data.quota, { id: full.id, name: 'Full' });
      await admin.put(`/surveys/${id}/quotas/${full.id}`, { limit: 9 });
      await admin.put(`/surveys/${id}/quotas/${later.id}`, { limit: 0 });
      await forget(id, responseId, key, 1);
      assert.deepEqual((await admin.submit(id, body, { 'idempotency-key': key })).body, first.body);
    });
  });
});
