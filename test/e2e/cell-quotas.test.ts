import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { liveServerMessageSchema } from '../../src/http/schemas/live.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { openLive } from '../support/live-client.ts';
import { countedQuotas, panelSurvey } from '../support/panel-survey.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import { adminEmail, adminPassword, type RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { useService } from '../support/use-service.ts';

/**
 * How long a survey's responses may take to be counted again, for which the service waits ten times as long as it took
 * to count them before.
 */
const countedAgainWithinMs = 60_000;

describe('quotas by cell', () => {
  let admin: Client;
  let service: RunningService;
  useService((served) => {
    ({ admin, service } = served);
  });
  after(async () => (await sharedStores()).stop());

  it('store what comes too late as over quota, and say which was full', async () => {
    const { id, sex, is, submit } = await panelSurvey(admin);
    const quota = await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 1, where: is(sex, 0) });
    assert.deepEqual([quota.counts, quota.whenFull, quota.isActive], ['COMPLETED', 'OVER_QUOTA', true]);
    await countedQuotas(admin, id);
    assert.equal((await submit(0, 0)).outcome, 'COMPLETED');
    const late = await submit(0, 1);
    assert.deepEqual(
      [late.outcome, late.isComplete, late.quota],
      ['OVER_QUOTA', true, { id: quota.id, name: 'Women' }],
    );
    assert.equal((await submit(1, 1)).outcome, 'COMPLETED');
    assert.equal((await admin.get(`/responses/${late.responseId}`)).outcome, 'OVER_QUOTA');
    const [shown] = await admin.get(`/surveys/${id}/quotas`);
    assert.deepEqual([shown.count, shown.share], [1, 1]);
  });

  it('count Chinese by its script, as the path, filters and crosstabs do', async () => {
    const { id } = await admin.create('/surveys', { title: 'Lunch', status: 'ACTIVE' });
    const where = { language: ['zh-Hant'] };
    const { id: asked } = await admin.create(`/surveys/${id}/questions`, {
      type: 'SHORT_TEXT',
      text: 'Only in zh-Hant',
      visibleIf: where,
    });
    await admin.put(`/surveys/${id}/translations/zh-Hant`, { title: '午餐' });
    const [traditional, others] = [
      ['zh-TW', 'zh-HK', 'zh-Hant'],
      ['zh', 'zh-CN', 'zh-Hans-HK', 'en'],
    ];
    for (const language of [...traditional, ...others]) {
      const path = await admin.post(`/public/surveys/${id}/path`, { answers: [], language });
      const isTraditional = traditional.includes(language);
      assert.deepEqual(
        [path.title, path.sections.flatMap(({ questions }: any) => questions.map((each: any) => each.id))],
        [isTraditional ? '午餐' : 'Lunch', isTraditional ? [asked] : []],
        language,
      );
    }
    const answer = async (language: string) =>
      assert.equal((await admin.submit(id, { answers: [], language })).status, 201);
    for (const language of [...traditional, ...others]) await answer(language);
    await admin.create(`/surveys/${id}/quotas`, { name: 'zh-Hant', limit: 9, where });
    assert.deepEqual(await countedQuotas(admin, id), { 'zh-Hant': 3 }, 'those that are stored already');
    await answer('zh-MO');
    assert.deepEqual(await countedQuotas(admin, id), { 'zh-Hant': 4 });
    const analytics = `/analytics/surveys/${id}`;
    await eventually(async () => assert.equal((await admin.get(analytics)).totalResponses, 8));
    assert.equal((await admin.get(`${analytics}?filter=language:zh-Hant`)).totalResponses, 4);
    const crosstab = await admin.post(`${analytics}/crosstab`, { questionId1: 'language', questionId2: 'outcome' });
    assert.deepEqual(
      crosstab.rows.map(({ value, total }: any) => [value, total]),
      [
        ['en', 1],
        ['zh-Hans', 3],
        ['zh-Hant', 4],
      ],
    );
  });

  it('count what is stored already, exactly, and give seats back after deletions', async () => {
    const { id, sex, is, submit } = await panelSurvey(admin);
    const first = await submit(0, 0);
    for (let n = 0; n < 4; n += 1) await submit(n % 2, 0);
    await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 4, where: is(sex, 0) });
    assert.deepEqual(await countedQuotas(admin, id), { Women: 3 });
    assert.equal((await submit(0, 0)).outcome, 'COMPLETED');
    assert.equal((await submit(0, 0)).outcome, 'OVER_QUOTA');
    await admin.remove(`/responses/${first.responseId}`);
    await eventually(async () => assert.deepEqual(await countedQuotas(admin, id), { Women: 3 }), countedAgainWithinMs);
    assert.equal((await submit(0, 0)).outcome, 'COMPLETED');
    assert.equal((await submit(0, 0)).outcome, 'OVER_QUOTA');
  });

  it('are compared with the stored responses, corrected, and the difference is a metric', async () => {
    const { id, sex, is, submit } = await panelSurvey(admin);
    for (let n = 0; n < 3; n += 1) await submit(0, n % 2);
    await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 4, where: is(sex, 0) });
    assert.deepEqual(await countedQuotas(admin, id), { Women: 3 });
    const differences = async () =>
      Number(
        /^quota_count_differences_total(?:\{[^}]*\})? (\d+)$/m.exec(
          await (await fetch(`${service.origin}/metrics`)).text(),
        )?.[1],
      );
    const before = await differences();
    const redis = await openPatientRedis((await sharedStores()).redisUrl);
    const [key = ''] = await redis.keys(`*quotas:${id}`);
    await redis.hset(key, 'c1', 1);
    // As the service asks once an hour.
    await redis.sadd(key.replace(`quotas:${id}`, 'quotas-to-count'), id);
    await redis.quit();
    await eventually(async () => assert.deepEqual(await countedQuotas(admin, id), { Women: 3 }), countedAgainWithinMs);
    await eventually(async () => assert.equal((await differences()) - before, 2));
    assert.deepEqual([(await submit(0, 0)).outcome, (await submit(0, 0)).outcome], ['COMPLETED', 'OVER_QUOTA']);
  });

  it('keep what they have counted when an option of it is removed', async () => {
    const { id } = await admin.create('/surveys', { title: 'Panel' });
    const agree = await admin.create(`/surveys/${id}/questions`, { type: 'LIKERT_SCALE', text: 'Do you agree?' });
    await admin.post(`/surveys/${id}/publish`);
    const submit = async (numberValue: number) =>
      (await admin.submit(id, { answers: [{ questionId: agree.id, numberValue }] })).body.data.outcome;
    const where = { questionId: agree.id, operator: 'between', min: 4 };
    await admin.create(`/surveys/${id}/quotas`, { name: 'Before', limit: 2, where });
    await countedQuotas(admin, id);
    assert.deepEqual([await submit(5), await submit(5)], ['COMPLETED', 'COMPLETED']);
    const options = agree.options.slice(0, 4).map(({ id: optionId, text }: any) => ({ id: optionId, text }));
    await admin.put(`/surveys/questions/${agree.id}`, { options });
    // A new quota counts the stored responses as the hourly count does.
    await admin.create(`/surveys/${id}/quotas`, { name: 'After', limit: 2, where });
    assert.deepEqual(await countedQuotas(admin, id), { Before: 2, After: 2 });
    assert.equal(await submit(4), 'OVER_QUOTA');
  });

  it('of a closed survey, and its collectors, show their counts after a restore with an empty intake', async () => {
    const { id, sex, is, submit } = await panelSurvey(admin);
    await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 2, where: is(sex, 0) });
    const { id: collectorId } = await admin.create(`/surveys/${id}/collectors`, { name: 'Poster', responseQuota: 1 });
    await countedQuotas(admin, id);
    assert.equal((await submit(0, 0, { collectorId })).outcome, 'COMPLETED');
    for (const sexIndex of [0, 1, 1]) assert.equal((await submit(sexIndex, 1)).outcome, 'COMPLETED');
    await admin.put(`/surveys/${id}`, { status: 'CLOSED' });
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 4));

    const redis = await openPatientRedis((await sharedStores()).redisUrl);
    await redis.del(...(await redis.keys(`*:${id}`)));
    await redis.quit();
    const collectors = await admin.get(`/surveys/${id}/collectors`);
    assert.deepEqual(
      collectors.map(({ name, completeResponses, state }: any) => [name, completeResponses, state]),
      [
        ['Default', 3, 'OPEN'],
        ['Poster', 1, 'QUOTA_REACHED'],
      ],
    );
    assert.deepEqual(await countedQuotas(admin, id), { Women: 2 });
  });

  it('are made as a grid of interlocked cells, with the same limit or targets', async () => {
    const { id, sex, age, submit } = await panelSurvey(admin);
    const cells = await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [sex.id, age.id], limit: 2 });
    assert.deepEqual(
      cells.map((cell: any) => cell.name),
      ['Female × 18–39', 'Female × 40+', 'Male × 18–39', 'Male × 40+'],
    );
    await countedQuotas(admin, id);
    for (const _ of [1, 2, 3]) await Promise.all([submit(0, 0), submit(1, 1)]);
    assert.deepEqual(await countedQuotas(admin, id), {
      'Female × 18–39': 2,
      'Female × 40+': 0,
      'Male × 18–39': 0,
      'Male × 40+': 2,
    });
    const bad = await admin.call('POST', `/surveys/${id}/quotas/grid`, {
      body: { questionIds: [sex.id], targets: [{ optionIds: ['nothing'], limit: 1 }] },
    });
    assert.deepEqual([bad.status, bad.body.details[0].path], [400, 'targets.0.optionIds.0']);
  });

  it('are announced although the name that a grid gives them is cut beside an emoji', async () => {
    const { id } = await admin.create('/surveys', { title: 'Long options', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Which?',
      options: [{ text: `${'x'.repeat(59)}😀` }, { text: 'Other' }],
    });
    await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [question.id], limit: 1 });
    assert.deepEqual(await countedQuotas(admin, id), { ['x'.repeat(59)]: 0, Other: 0 });
    const answers = [{ questionId: question.id, optionId: question.options[0].id }];
    assert.equal((await admin.submit(id, { answers })).body.data.outcome, 'COMPLETED');
  });

  it('only count where they shall, are changed and deleted, and make no version of their survey', async () => {
    const { id, sex, is, submit } = await panelSurvey(admin);
    const { version } = await admin.get(`/surveys/${id}`);
    const body = { name: 'Women', limit: 1, whenFull: 'COUNT_ONLY', where: is(sex, 0) };
    const quota = await admin.create(`/surveys/${id}/quotas`, body);
    await countedQuotas(admin, id);
    for (const _ of [1, 2, 3]) assert.equal((await submit(0, 0)).outcome, 'COMPLETED');
    assert.deepEqual(await countedQuotas(admin, id), { Women: 3 });
    await admin.put(`/surveys/${id}/quotas/${quota.id}`, { whenFull: 'OVER_QUOTA', name: 'Full' });
    assert.equal((await submit(0, 0)).outcome, 'OVER_QUOTA');
    await admin.remove(`/surveys/${id}/quotas/${quota.id}`);
    assert.equal((await submit(0, 0)).outcome, undefined, 'a survey without paths and quotas names no outcome');
    assert.equal((await admin.get(`/surveys/${id}`)).version, version);
  });

  it('close the survey where they shall', async () => {
    const { id, sex, is, submit } = await panelSurvey(admin);
    await admin.create(`/surveys/${id}/quotas`, { name: 'All', limit: 1, whenFull: 'CLOSE', where: is(sex, 0) });
    await countedQuotas(admin, id);
    assert.equal((await submit(0, 0)).outcome, 'COMPLETED');
    assert.deepEqual((await submit(1, 0)).reason, 'QUOTA_REACHED');
    await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).status, 'CLOSED'));
  });

  it('close the survey although it is edited at the same time', async () => {
    const surveys = await Promise.all(Array.from({ length: 12 }, () => panelSurvey(admin)));
    for (const { id, sex, is } of surveys)
      await admin.create(`/surveys/${id}/quotas`, { name: 'All', limit: 1, whenFull: 'CLOSE', where: is(sex, 0) });
    for (const { id } of surveys) await countedQuotas(admin, id);
    await Promise.all(
      surveys.map(({ id, submit }) => Promise.all([submit(0, 0), admin.put(`/surveys/${id}`, { title: 'Edited' })])),
    );
    for (const { id, submit } of surveys) {
      await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).status, 'CLOSED'));
      assert.equal((await submit(1, 0)).reason, 'QUOTA_REACHED');
    }
  });

  it('close the survey when a full one shall close it from now on, or gets a lower limit', async () => {
    for (const change of [{ whenFull: 'CLOSE' }, { whenFull: 'CLOSE', limit: 1 }]) {
      const { id, sex, is, submit } = await panelSurvey(admin);
      const quota = await admin.create(`/surveys/${id}/quotas`, { name: 'Two', limit: 2, where: is(sex, 0) });
      await countedQuotas(admin, id);
      for (const age of [0, 1]) assert.equal((await submit(0, age)).outcome, 'COMPLETED');
      await admin.put(`/surveys/${id}/quotas/${quota.id}`, change);
      await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).status, 'CLOSED'));
      assert.equal((await submit(1, 0)).reason, 'QUOTA_REACHED');
    }
  });

  it('count stored responses by the path of then, although the survey hides the question from them now', async () => {
    const { id, sex, age, is, submit } = await panelSurvey(admin);
    await admin.create(`/surveys/${id}/quotas`, { name: 'Before', limit: 9, where: is(age, 0) });
    await countedQuotas(admin, id);
    await submit(0, 0);
    await admin.put(`/surveys/questions/${age.id}`, { visibleIf: is(sex, 1) });
    await admin.create(`/surveys/${id}/quotas`, { name: 'After', limit: 9, where: is(age, 0) });
    assert.deepEqual(await countedQuotas(admin, id), { Before: 1, After: 1 });
  });

  it('are named on the path of who fits a full one', async () => {
    const { id, sex, is, submit } = await panelSurvey(admin);
    const { id: quotaId } = await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 1, where: is(sex, 0) });
    await countedQuotas(admin, id);
    const fullFor = async (index: number) => {
      const answers = [{ questionId: sex.id, optionId: sex.options[index].id }];
      return (await admin.call('POST', `/public/surveys/${id}/path`, { body: { answers } })).body.data.fullQuotas;
    };
    assert.deepEqual(await fullFor(0), []);
    await submit(0, 0);
    assert.deepEqual(await fullFor(0), [{ id: quotaId, name: 'Women', whenFull: 'OVER_QUOTA' }]);
    assert.deepEqual(await fullFor(1), []);
  });

  it('are not named on the path of who is screened out', async () => {
    const { id, sex, age, is, submit } = await panelSurvey(admin);
    await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 0, where: is(sex, 0) });
    await countedQuotas(admin, id);
    await admin.put(`/surveys/questions/${age.id}`, { skips: [{ if: is(age, 1), to: 'SCREEN_OUT' }] });
    const pathFor = async (index: number) => {
      const answers = [sex.options[0], age.options[index]].map((option, place) => ({
        questionId: [sex, age][place].id,
        optionId: option.id,
      }));
      const { outcome, fullQuotas } = (await admin.call('POST', `/public/surveys/${id}/path`, { body: { answers } }))
        .body.data;
      return [outcome, fullQuotas.map(({ name }: any) => name)];
    };
    assert.deepEqual(await pathFor(0), ['COMPLETE', ['Women']]);
    assert.equal((await submit(0, 0)).outcome, 'OVER_QUOTA');
    assert.deepEqual(await pathFor(1), ['SCREENED_OUT', []]);
    assert.equal((await submit(0, 1)).outcome, 'SCREENED_OUT');
  });

  it('come with live status messages, at the start and at most once a second', async () => {
    const { id, sex, is, submit } = await panelSurvey(admin);
    const { body } = await admin.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } });
    const live = await openLive(service, body.data.accessToken);
    live.send({ type: 'subscribe', surveyId: id, channels: ['status'] });
    assert.equal((await live.next('status'))['quotas'], undefined);
    const women = await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 9, where: is(sex, 0) });
    await admin.create(`/surveys/${id}/quotas`, { name: 'No', limit: 9, where: is(sex, 1), isActive: false });
    await live.next('status', ({ quotas }) => quotas?.length === 1);
    await countedQuotas(admin, id);
    const startedAt = performance.now();
    let first = '';
    for (let n = 0; n < 6; n += 1) first = (await submit(0, 0)).responseId;
    const last = await live.next('status', ({ quotas }) => quotas?.[0]?.count === 6);
    const seconds = Math.ceil((performance.now() - startedAt) / 1000) + 1;
    assert.deepEqual(last['quotas'], [{ id: women.id, count: 6, limit: 9 }]);
    const changes = live.messages.filter(({ type, quotas }) => type === 'status' && quotas?.[0]?.count > 0);
    assert.ok(changes.length <= seconds, JSON.stringify(changes));
    for (const message of live.messages) liveServerMessageSchema.parse(message);
    // A seat that comes back is counted later, without another response.
    await admin.remove(`/responses/${first}`);
    await live.next('status', ({ quotas }) => quotas?.[0]?.count === 5, countedAgainWithinMs);
    const second = await openLive(service, body.data.accessToken);
    second.send({ type: 'subscribe', surveyId: id, channels: ['status'] });
    assert.equal((await second.next('status'))['quotas'][0].count, 5);
    for (const { socket } of [live, second]) socket.terminate();
  });

  it('cannot name the invitation in an anonymous survey, which keeps nothing of it', async () => {
    const { id } = await panelSurvey(admin);
    const where = { all: [{ language: ['en'] }, { invitation: 'group', operator: 'equalsText', value: 'A' }] };
    const make = () => admin.call('POST', `/surveys/${id}/quotas`, { body: { name: 'Group A', limit: 1, where } });
    const switchTo = (isAnonymous: boolean, query = '') =>
      admin.call('PUT', `/surveys/${id}${query}`, { body: { isAnonymous } });
    assert.equal((await make()).status, 201);
    const refused = await switchTo(true);
    assert.deepEqual([refused.status, refused.body.details.reason], [409, 'CONDITION_BROKEN']);
    assert.equal(refused.body.details.broken[0].kind, 'quota');
    assert.equal((await switchTo(true, '?removeConditions=true')).status, 200);
    assert.deepEqual(await admin.get(`/surveys/${id}/quotas`), []);
    const odd = await make();
    assert.deepEqual([odd.status, odd.body.details[0].path], [400, 'where.all.1.invitation']);
    assert.equal((await switchTo(false)).status, 200);
    assert.equal((await make()).status, 201);
  });

  it('refuse conditions that do not fit', async () => {
    const { id, sex, is } = await panelSurvey(admin);
    const make = (where: unknown) =>
      admin.call('POST', `/surveys/${id}/quotas`, { body: { name: 'Odd', limit: 1, where } });
    for (const where of [
      { questionId: 'none', operator: 'answered' },
      { questionId: sex.id, operator: 'between', min: 1 },
      { all: [] },
    ]) {
      const reply = await make(where);
      assert.equal(reply.status, 400, JSON.stringify(where));
      assert.match(reply.body.details[0].path, /^where/);
    }
    await admin.create(`/surveys/${id}/quotas`, { name: 'Women', limit: 1, where: is(sex, 0) });
    const broken = await admin.call('DELETE', `/surveys/${id}/questions/${sex.id}`);
    assert.deepEqual([broken.status, broken.body.details.reason], [409, 'CONDITION_BROKEN']);
    await admin.remove(`/surveys/${id}/questions/${sex.id}?removeConditions=true`);
    assert.deepEqual(await admin.get(`/surveys/${id}/quotas`), []);
  });
});
