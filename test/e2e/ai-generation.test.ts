import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { questionTypeNames } from '../../src/domain/questions/type-names.ts';
import { type AiFixture, aiProviders, endedJob, startAiFixture } from '../support/ai-fixture.ts';
import { disobedient, type SeenCall } from '../support/ai-provider.ts';
import { callForWork, resultOfWork } from '../support/ai-work.ts';
import { adminClient, type Client } from '../support/client.ts';
import { draftQuestion } from '../support/draft-question.ts';
import { signInNewUser } from '../support/new-user.ts';
import { adminEmail, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { useAi } from '../support/use-ai.ts';

/** A survey as a model would write it, with every type in turn. */
function writtenSurvey({ user }: SeenCall): unknown {
  const { questionCount } = JSON.parse(user[0] ?? '{}');
  const questions = Array.from({ length: questionCount }, (_, index) => ({
    type: questionTypeNames[index % questionTypeNames.length],
    text: `Question ${index + 1}`,
    description: null,
    isRequired: false,
    options: ['Good', 'Fair', 'Poor'],
    rows: ['Price', 'Taste'],
    min: 1,
    max: 7,
    step: 1,
    section: index < 3 ? 0 : 1,
    onlyIfQuestion: index === 1 ? 0 : null,
    onlyIfOptions: index === 1 ? ['Fair', 'Poor'] : [],
  }));
  const sections = ['Food', 'Price'].map((title) => ({ title, description: null }));
  return { title: 'Lunch at work', description: 'About the canteen', sections, questions };
}

describe('AI generation of surveys', () => {
  let service: AiFixture['service'];
  let ai: AiFixture['ai'];
  let admin: Client;
  useAi(
    (scene) => {
      ({ service, ai, admin } = scene);
    },
    { answer: writtenSurvey },
  );
  const path = '/ai/generate-survey';
  const order = (body: object) => ({ prompt: 'What do people think of our canteen?', questionCount: 5, ...body });
  const generate = (body: object) => callForWork(admin, path, order(body));
  /** For a reply before the end. */
  const begin = (body: object) => admin.call('POST', path, { body: order(body) });

  for (const provider of aiProviders)
    it(`${provider} generates a survey with exactly the requested questions, of every type, which can be stored`, async () => {
      const reply = await generate({ provider, questionCount: 17, save: true });
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      const { survey, provider: named, model } = reply.body.data;
      assert.equal(named, provider);
      assert.equal(survey.status, 'DRAFT');
      assert.deepEqual(
        survey.questions.map((question: any) => question.type),
        questionTypeNames,
      );
      assert.deepEqual((await admin.get(`/surveys/${survey.id}`)).questions, survey.questions);
      const [food, price] = survey.sections;
      assert.deepEqual([food.title, price.title], ['Food', 'Price']);
      const [{ changes }] = await admin.get(`/surveys/${survey.id}/versions`);
      assert.deepEqual(
        changes.map(({ action, actorEmail }: any) => [action, actorEmail]),
        [['ai.used', adminEmail]],
      );
      assert.deepEqual([survey.questions[2].sectionId, survey.questions[3].sectionId], [food.id, price.id]);
      const [first, second] = survey.questions;
      assert.deepEqual(second.visibleIf, {
        questionId: first.id,
        operator: 'isAnyOf',
        optionIds: [first.options[1].id, first.options[2].id],
      });
      assert.equal(ai.calls.length, 1);
      assert.equal(ai.calls[0]?.wire, provider);
      assert.equal(ai.calls[0]?.model, model);
      assert.ok(!ai.calls[0]?.system.includes('canteen'), 'what the author writes travels as data');
      assert.ok(await admin.put(`/surveys/${survey.id}`, { status: 'ACTIVE' }));
    });

  it('without `save` a generated survey is only returned, in the form of a request body', async () => {
    const before = (await admin.call('GET', '/surveys')).body.pagination.total;
    const { survey } = await resultOfWork(admin, '/ai/generate-survey', { prompt: 'Canteen', questionCount: 30 });
    assert.equal(survey.questions.length, 30);
    assert.equal((await admin.call('GET', '/surveys')).body.pagination.total, before);
    const { id } = await admin.create('/surveys', { title: survey.title, description: survey.description });
    for (const question of survey.questions) await admin.create(`/surveys/${id}/questions`, question);
  });

  it('a stored survey has the language that the call names, else English', async () => {
    for (const [body, language] of [
      [{ save: true, language: 'de' }, 'de'],
      [{ save: true }, 'en'],
    ] as const) {
      const { survey } = await resultOfWork(
        admin,
        path,
        order({ prompt: 'Was halten Gäste von der Kantine?', ...body }),
      );
      assert.equal(survey.language, language);
    }
  });

  it('a long generation gets a 202, and its result is found under the job by its owner only', async () => {
    let answer = (): void => undefined;
    ai.holdUntil = new Promise((resolve) => {
      answer = resolve;
    });
    const slow = { prompt: 'Slow', save: true };
    const [reply, equal] = await Promise.all([begin(slow), begin(slow)]).finally(answer);
    assert.deepEqual([reply.status, equal.status, ai.calls.length], [202, 202, 1]);
    const { jobId } = reply.body.data;
    const job = await endedJob(admin, jobId);
    assert.equal(job.result.survey.questions.length, 5);
    assert.deepEqual((await admin.get(`/surveys/${job.result.survey.id}`)).questions, job.result.survey.questions);
    assert.equal((await (await signInNewUser(service, admin)).call('GET', `/ai/jobs/${jobId}`)).status, 404);
  });

  it('a stored survey is shown under its job as it is now, and only to callers who may still read it', async () => {
    ai.faults.push({ status: 429, headers: { 'retry-after': '2' } });
    const [author, successor] = [await signInNewUser(service, admin), await signInNewUser(service, admin)];
    const begun = await author.call('POST', path, { body: order({ save: true }) });
    assert.equal(begun.status, 202, JSON.stringify(begun.body));
    const { jobId } = begun.body.data;
    const { id } = (await endedJob(author, jobId)).result.survey;
    await author.put(`/surveys/${id}`, { title: 'Mine', visibility: 'PRIVATE' });
    const { accessToken: surveyToken } = await author.post(`/surveys/${id}/publish`);
    assert.equal((await author.submit(id, { surveyToken, answers: [] })).status, 201);
    const shown = async () => (await author.get(`/ai/jobs/${jobId}`)).result.survey;
    const { right, title, responseCount, accessToken } = await shown();
    assert.deepEqual([right, title, responseCount, accessToken], ['own', 'Mine', 1, surveyToken]);
    await author.put(`/surveys/${id}/owner`, { userId: successor.id });
    await successor.put(`/surveys/${id}/members/${author.id}`, { role: 'VIEWER' });
    assert.deepEqual(await shown(), await author.get(`/surveys/${id}`));
    assert.equal((await shown()).right, 'read');
    await successor.remove(`/surveys/${id}/members/${author.id}`);
    const statuses = await Promise.all(
      [`/surveys/${id}`, `/ai/jobs/${jobId}`].map(async (read) => (await author.call('GET', read)).status),
    );
    assert.deepEqual(statuses, [404, 404]);
  });

  it('an invalid reply is asked for again, once', async () => {
    ai.faults.push({ text: 'I would love to help! Here are your questions' });
    assert.equal((await generate({})).status, 200);
    assert.equal(ai.calls.length, 2);
    ai.answer = () => ({
      title: 'Short',
      description: null,
      sections: [],
      questions: [draftQuestion('NPS', 'One', { isRequired: true })],
    });
    const reply = await generate({});
    assert.equal(reply.status, 502);
    assert.equal(reply.body.code, 'AI_PROVIDER_ERROR');
    assert.equal(ai.calls.length, 4);
    assert.match(ai.calls[3]?.user.at(-1) ?? '', /exactly 5/);
  });

  it('a generation waits for a provider at its limit, and can be cancelled while it waits', async () => {
    ai.faults.push({ status: 429, headers: { 'retry-after': '1' } }, { status: 429, headers: { 'retry-after': '1' } });
    assert.equal((await generate({ provider: 'gemini' })).status, 200);
    assert.equal(ai.calls.length, 3);
    ai.faults.push({ status: 429, headers: { 'retry-after': '40' } });
    const reply = await begin({ provider: 'gemini' });
    assert.deepEqual([reply.status, reply.body.data.status], [202, 'RUNNING'], JSON.stringify(reply.body));
    assert.equal((await admin.remove(`/ai/jobs/${reply.body.data.jobId}`)).status, 'CANCELLED');
    assert.equal(ai.calls.length, 4);
  });

  it('invalid requests are refused before any provider is called', async () => {
    for (const wrong of [
      { questionCount: 4 },
      { questionCount: 31 },
      { questionCount: 5.5 },
      { questionCount: '5' },
      { prompt: '' },
      { prompt: 'x'.repeat(10_001) },
      { provider: 'acme' },
      { questions: 5 },
    ]) {
      const reply = await generate(wrong);
      assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR'], JSON.stringify(wrong).slice(0, 100));
    }
    assert.equal((await generate({ prompt: 'x'.repeat(1024 * 1024) })).status, 413);
    assert.equal(ai.calls.length, 0);
  });
});

describe('the reply cache of generated surveys', () => {
  it('a repeated request is answered from the cache, which never holds an invalid reply', async () => {
    const { ai, admin, stop } = await startAiFixture({ AI_CACHE_ENABLED: 'true' });
    try {
      const body = { prompt: `Canteen ${randomUUID()}`, questionCount: 5 };
      ai.answer = () => disobedient({ title: 'Nothing' });
      assert.equal((await callForWork(admin, '/ai/generate-survey', body)).body.code, 'AI_PROVIDER_ERROR');
      ai.answer = writtenSurvey;
      const [first, second] = [
        await resultOfWork(admin, '/ai/generate-survey', body),
        await resultOfWork(admin, '/ai/generate-survey', body),
      ];
      assert.deepEqual(second, first);
      assert.equal(ai.calls.length, 3);
      await resultOfWork(admin, '/ai/generate-survey', { ...body, questionCount: 6 });
      await resultOfWork(admin, '/ai/generate-survey', { ...body, provider: 'anthropic' });
      assert.equal(ai.calls.length, 5);
    } finally {
      await stop();
    }
  });
});

describe('a service without AI keys', () => {
  it('a service without keys replies AI_NOT_CONFIGURED, and never sends a key of an impossible form', async () => {
    await sharedStores();
    const service = await startService({ env: { ANTHROPIC_API_KEY: 'sk-0123456789abcdefghij' } });
    try {
      const admin = await adminClient(service);
      const ask = async (provider?: string) =>
        (
          await admin.call('POST', '/ai/generate-survey', {
            body: { prompt: 'Canteen', questionCount: 5, ...(provider && { provider }) },
          })
        ).body.code;
      assert.deepEqual(
        [await ask('openai'), await ask('anthropic'), await ask()],
        ['AI_NOT_CONFIGURED', 'AI_KEY_INVALID', 'AI_KEY_INVALID'],
      );
    } finally {
      await service.stop();
    }
  });
});
