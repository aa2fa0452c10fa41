import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../../src/platform/ids.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { countedQuotas, panelSurvey } from '../support/panel-survey.ts';
import { useService } from '../support/use-service.ts';

describe('quotas by cell and open responses', () => {
  let admin: Client;
  useService((served) => ({ admin } = served));

  it('count an open response by the version of its last save, until it is continued by another', async () => {
    const { id, sex, age, is } = await panelSurvey(admin);
    const quota = (name: string) =>
      admin.create(`/surveys/${id}/quotas`, { name, limit: 9, where: is(age, 0), counts: 'STARTED' });
    await admin.put(`/surveys/questions/${sex.id}`, { visibleIf: { language: ['en', 'de'] } });
    await quota('Before');
    await countedQuotas(admin, id);
    const responseId = newId();
    const answers = [
      { questionId: sex.id, optionId: sex.options[0].id },
      { questionId: age.id, optionId: age.options[0].id },
    ];
    const { body } = await admin.submit(id, { responseId, answers, isComplete: false });
    assert.deepEqual(await countedQuotas(admin, id), { Before: 1 });
    await admin.put(`/surveys/questions/${age.id}`, { visibleIf: is(sex, 1) });
    await quota('After');
    assert.deepEqual(await countedQuotas(admin, id), { Before: 1, After: 1 });
    const { version: surveyVersion } = await admin.get(`/surveys/${id}`);
    const next = { responseId, resumeToken: body.data.resumeToken, answers: [], isComplete: false };
    assert.equal((await admin.submit(id, next)).status, 201);
    assert.deepEqual(await countedQuotas(admin, id), { Before: 1, After: 1 });
    const byPresent = { ...next, metadata: { page: '2' }, surveyVersion };
    assert.equal((await admin.submit(id, byPresent)).status, 201);
    assert.deepEqual(await countedQuotas(admin, id), { Before: 0, After: 0 });
  });

  it('count a part by the version of its save, although quota and condition came after it', async () => {
    const { id, sex, age, is, submit } = await panelSurvey(admin);
    const part = await submit(0, 0, { responseId: newId(), isComplete: false });
    const young = is(age, 0);
    const rules = { limit: 1, counts: 'STARTED' };
    await admin.create(`/surveys/${id}/quotas`, { name: 'Young', where: young, ...rules });
    await admin.create(`/surveys/${id}/quotas`, { name: 'Not young', where: { not: young }, ...rules });
    assert.deepEqual(await countedQuotas(admin, id), { Young: 1, 'Not young': 0 });
    const other = await submit(1, 1);
    assert.equal(other.outcome, 'COMPLETED');
    await admin.put(`/surveys/questions/${age.id}`, { visibleIf: is(sex, 1) });
    const { version: surveyVersion } = await admin.get(`/surveys/${id}`);
    // By the present version the part leaves its cell, and the other one is full.
    const next = { responseId: part.responseId, resumeToken: part.resumeToken, answers: [], surveyVersion };
    assert.equal((await admin.submit(id, next)).body.data.outcome, 'OVER_QUOTA');
    assert.deepEqual(await countedQuotas(admin, id), { Young: 0, 'Not young': 1 });
    assert.equal((await submit(1, 0)).outcome, 'COMPLETED');
    // A further quota has all of them counted again.
    await admin.create(`/surveys/${id}/quotas`, { name: 'Further', where: is(sex, 0), limit: 9 });
    assert.deepEqual(await countedQuotas(admin, id), { Young: 1, 'Not young': 1, Further: 0 });
  });

  it('count beside an open response whose last version could not give one of its answers', async () => {
    const { id, sex, age, is, submit } = await panelSurvey(admin);
    const { version } = await admin.get(`/surveys/${id}`);
    await admin.put(`/surveys/questions/${sex.id}`, { settings: { allowOther: true } });
    const part = { isComplete: false, answers: [{ questionId: sex.id, textValue: 'another' }] };
    const { responseId, resumeToken } = (await admin.submit(id, { ...part, surveyVersion: version + 1 })).body.data;
    const next = { responseId, resumeToken, isComplete: false, surveyVersion: version };
    const answers = [{ questionId: age.id, optionId: age.options[0].id }];
    assert.equal((await admin.submit(id, { ...next, answers })).status, 201);
    await submit(0, 0);
    const rules = { limit: 1, counts: 'STARTED' };
    await admin.create(`/surveys/${id}/quotas`, { name: 'Women', where: is(sex, 0), ...rules });
    await admin.create(`/surveys/${id}/quotas`, { name: 'Young', where: is(age, 0), ...rules });
    assert.deepEqual(await countedQuotas(admin, id), { Women: 1, Young: 2 });
    assert.equal((await submit(0, 1)).outcome, 'OVER_QUOTA');
  });

  it('count the same at once as later what is completed by a version without one of its options', async () => {
    const { id, sex, age } = await panelSurvey(admin);
    const { version: surveyVersion } = await admin.get(`/surveys/${id}`);
    const options = [
      ...sex.options.map(({ id: optionId, text }: any) => ({ id: optionId, text })),
      { text: 'Diverse' },
    ];
    const diverse = (await admin.put(`/surveys/questions/${sex.id}`, { options })).options[2];
    const where = { questionId: sex.id, operator: 'isAnyOf', optionIds: [diverse.id] };
    await admin.create(`/surveys/${id}/quotas`, { name: 'Diverse', limit: 9, where });
    await countedQuotas(admin, id);
    const part = { isComplete: false, answers: [{ questionId: sex.id, optionId: diverse.id }] };
    const { responseId, resumeToken } = (await admin.submit(id, part)).body.data;
    const answers = [{ questionId: age.id, optionId: age.options[0].id }];
    const done = await admin.submit(id, { responseId, resumeToken, surveyVersion, answers });
    assert.equal(done.body.data.outcome, 'COMPLETED');
    assert.deepEqual(await countedQuotas(admin, id), { Diverse: 1 });
    await admin.create(`/surveys/${id}/quotas`, { name: 'Counted later', limit: 9, where });
    assert.deepEqual(await countedQuotas(admin, id), { Diverse: 1, 'Counted later': 1 });
  });

  it('of started responses do not count parts that screen out', async () => {
    const { id, sex, age, is } = await panelSurvey(admin);
    await admin.put(`/surveys/questions/${age.id}`, { skips: [{ if: is(age, 1), to: 'SCREEN_OUT' }] });
    const women = { name: 'Women', limit: 1, counts: 'STARTED', where: is(sex, 0) };
    await admin.create(`/surveys/${id}/quotas`, women);
    await countedQuotas(admin, id);
    const chosen = (question: any, index: number) => ({
      questionId: question.id,
      optionId: question.options[index].id,
    });
    const send = async (body: object) => {
      const { status, body: reply } = await admin.submit(id, { answers: [], ...body });
      assert.equal(status, 201, JSON.stringify(reply));
      return reply.data;
    };
    const screened = { answers: [chosen(sex, 0), chosen(age, 1)], isComplete: false };
    const part = await send({ answers: [chosen(sex, 0)], isComplete: false });
    assert.deepEqual([part.outcome, await countedQuotas(admin, id)], ['PARTIAL', { Women: 1 }]);
    const own = { responseId: part.responseId, resumeToken: part.resumeToken };
    assert.equal((await send({ ...own, answers: [chosen(age, 1)], isComplete: false })).outcome, 'PARTIAL');
    assert.deepEqual(await countedQuotas(admin, id), { Women: 0 });
    assert.equal((await send(own)).outcome, 'SCREENED_OUT');
    assert.equal((await send({ answers: [chosen(sex, 0), chosen(age, 0)] })).outcome, 'COMPLETED');
    const late = await send(screened);
    assert.deepEqual([late.outcome, late.isComplete], ['PARTIAL', false]);
    assert.equal((await send({ responseId: late.responseId, resumeToken: late.resumeToken })).outcome, 'SCREENED_OUT');
    assert.deepEqual(await countedQuotas(admin, id), { Women: 1 });
  });

  it('of started responses get seats back from what screens out by a later version', async () => {
    const { id, sex, age, is, submit } = await panelSurvey(admin);
    await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 1, counts: 'STARTED', where: is(sex, 0) });
    await countedQuotas(admin, id);
    const part = await submit(0, 1, { isComplete: false });
    assert.deepEqual([part.outcome, await countedQuotas(admin, id)], ['PARTIAL', { Women: 1 }]);
    const skip = await admin.call('PUT', `/surveys/questions/${age.id}`, {
      body: { skips: [{ if: is(age, 1), to: 'SCREEN_OUT' }] },
    });
    assert.equal(skip.status, 200);
    const { surveyVersion } = await admin.get(`/responses/${part.responseId}`);
    const { responseId, resumeToken } = part;
    const body = { responseId, resumeToken, answers: [], surveyVersion: surveyVersion + 1 };
    assert.equal((await admin.submit(id, body)).body.data.outcome, 'SCREENED_OUT');
    assert.deepEqual(await countedQuotas(admin, id), { Women: 0 });
    assert.equal((await submit(0, 0)).outcome, 'COMPLETED');
  });

  it('that end a response with a part of it say when that was', async () => {
    const { id, sex, is, submit } = await panelSurvey(admin);
    await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 1, counts: 'STARTED', where: is(sex, 0) });
    await countedQuotas(admin, id);
    assert.equal((await submit(0, 0)).outcome, 'COMPLETED');
    for (const isComplete of [true, false]) {
      const late = await submit(0, 0, { isComplete });
      assert.deepEqual([late.outcome, late.isComplete], ['OVER_QUOTA', true]);
      const { completedAt, submittedAt } = await admin.get(`/responses/${late.responseId}`);
      assert.equal(completedAt, submittedAt);
    }
  });

  it('that end a response with a part of it leave the rest not asked, and the other parts as they were', async () => {
    const { id, sex, age, is, submit } = await panelSurvey(admin);
    await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 0, counts: 'STARTED', where: is(sex, 0) });
    await countedQuotas(admin, id);
    const part = (index: number) => ({
      isComplete: false,
      answers: [{ questionId: sex.id, optionId: sex.options[index].id }],
    });
    assert.equal((await admin.submit(id, part(0))).body.data.outcome, 'OVER_QUOTA');
    assert.equal((await submit(0, 1)).outcome, 'OVER_QUOTA');
    const whole = { answers: part(0).answers };
    assert.equal((await admin.submit(id, whole)).body.data.outcome, 'OVER_QUOTA');
    const { responseId, resumeToken } = (await admin.submit(id, part(1))).body.data;
    await eventually(async () => {
      const { questionStats } = await admin.get(`/analytics/surveys/${id}?outcome=OVER_QUOTA`);
      const counts = questionStats.map(({ responseCount, skippedCount, notAskedCount }: any) => [
        responseCount,
        skippedCount,
        notAskedCount,
      ]);
      assert.deepEqual(counts, [
        [3, 0, 0],
        [1, 1, 1],
      ]);
    });
    // Without paths a response goes on by the present version.
    const added = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Added' });
    const answers = [
      { questionId: age.id, optionId: age.options[0].id },
      { questionId: added.id, numberValue: 9 },
    ];
    const done = await admin.submit(id, { responseId, resumeToken, answers });
    assert.deepEqual([done.status, done.body.data?.outcome], [201, 'COMPLETED']);
  });
});
