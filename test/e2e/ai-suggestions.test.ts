import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AiFixture, aiProviders } from '../support/ai-fixture.ts';
import { standInKey } from '../support/ai-provider.ts';
import { callForWork } from '../support/ai-work.ts';
import type { Client } from '../support/client.ts';
import { useAi } from '../support/use-ai.ts';

const suggested = () => ({
  suggestions: [
    {
      aspect: 'bias',
      problem: 'It leads',
      text: 'How is {{shop}}?',
      options: [
        { value: 'great', text: 'Very good' },
        { value: 'fine', text: 'Fine' },
        { value: null, text: 'Poor' },
      ],
    },
    { aspect: 'length', problem: 'It is long', text: '{{shop}}?', options: [{ value: null, text: 'All new' }] },
    { aspect: 'clarity', problem: 'Unclear', text: 'How do you like {{shop}}?', options: [] },
  ],
});

describe('AI suggestions for a question', () => {
  let service: AiFixture['service'];
  let ai: AiFixture['ai'];
  let admin: Client;
  useAi(
    (scene) => {
      ({ service, ai, admin } = scene);
    },
    { answer: suggested },
  );

  const make = async (fields: object = {}) => {
    const survey = await admin.create('/surveys', { title: 'Shops', ...fields });
    const question = await admin.create(`/surveys/${survey.id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Is {{shop}} great?',
      options: [
        { text: 'Great', value: 'great' },
        { text: 'Fine', value: 'fine' },
      ],
    });
    return { surveyId: survey.id as string, question };
  };
  const optimise = (questionId: string, body: object = {}) =>
    callForWork(admin, `/ai/questions/${questionId}/optimize`, body);
  const suggest = async (questionId: string): Promise<any[]> => {
    const reply = await optimise(questionId);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    return reply.body.data.suggestions;
  };
  const decide = (id: string, what: string) => admin.call('POST', `/ai/suggestions/${id}/${what}`);
  const questionNow = async (surveyId: string) => (await admin.get(`/surveys/${surveyId}`)).questions[0];
  const assertRefused = (reply: { status: number; body: any }, status: number, code: string, reason?: string) =>
    assert.deepEqual(
      [reply.status, reply.body.code, reply.body.details?.reason],
      [status, code, reason],
      JSON.stringify(reply.body),
    );

  for (const provider of aiProviders)
    it(`suggestions of ${provider} are PENDING, and the question is sent as data`, async () => {
      const { question } = await make();
      const reply = await optimise(question.id, { provider });
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      assert.deepEqual(
        reply.body.data.suggestions.map(({ aspect, status }: any) => [aspect, status]),
        [
          ['bias', 'PENDING'],
          ['length', 'PENDING'],
          ['clarity', 'PENDING'],
        ],
      );
      assert.deepEqual(reply.body.data.suggestions[0].suggestion, {
        text: 'How is {{shop}}?',
        options: ['Very good', 'Fine', 'Poor'],
      });
      assert.equal(ai.calls[0]?.wire, provider);
      assert.ok(!ai.calls[0]?.system.includes('Is {{shop}}'));
      assert.deepEqual(
        (await admin.get(`/ai/questions/${question.id}/suggestions`)).suggestions,
        reply.body.data.suggestions,
      );
    });

  it('a suggestion is accepted once, keeps the values of options, and can be undone', async () => {
    const { surveyId, question } = await make();
    const [first, second] = await suggest(question.id);
    const version = (await admin.get(`/surveys/${surveyId}`)).version;
    const replies = await Promise.all([
      decide(first.id, 'accept'),
      decide(first.id, 'accept'),
      decide(first.id, 'accept'),
    ]);
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 409, 409]);
    assertRefused(await decide(first.id, 'accept'), 409, 'CONFLICT', 'ALREADY_DECIDED');
    assertRefused(await decide(first.id, 'reject'), 409, 'CONFLICT', 'ALREADY_DECIDED');
    const after = await questionNow(surveyId);
    assert.equal(after.text, 'How is {{shop}}?');
    assert.deepEqual(after.options.map(({ id, value, text }: any) => [id, value, text]).slice(0, 2), [
      [question.options[0].id, 'great', 'Very good'],
      [question.options[1].id, 'fine', 'Fine'],
    ]);
    assert.equal(after.options[2].text, 'Poor');
    assert.equal((await admin.get(`/surveys/${surveyId}`)).version, version + 1);
    assertRefused(await decide(second.id, 'accept'), 409, 'CONFLICT', 'QUESTION_CHANGED');
    assert.equal((await admin.post(`/ai/suggestions/${first.id}/undo`)).status, 'PENDING');
    assert.deepEqual(await questionNow(surveyId), question);
    assertRefused(await decide(first.id, 'undo'), 409, 'CONFLICT', 'NOT_ACCEPTED');
    assert.equal((await decide(first.id, 'accept')).status, 200);
    await admin.put(`/surveys/questions/${question.id}`, { text: 'By hand' });
    assertRefused(await decide(first.id, 'undo'), 409, 'CONFLICT', 'QUESTION_CHANGED');
    assert.equal((await questionNow(surveyId)).text, 'By hand');
  });

  it('a suggestion that removed options is undone with their conditions and anchors, as far as these still hold', async () => {
    const { surveyId, question } = await make();
    const asked = await admin.create(`/surveys/${surveyId}/questions`, {
      type: 'YES_NO',
      text: 'Been there?',
      order: 0,
    });
    const [great, fine] = question.options;
    await admin.put(`/surveys/questions/${question.id}`, {
      options: [
        { ...great, visibleIf: { questionId: asked.id, operator: 'answered' } },
        { ...fine, isAnchored: true },
      ].map(({ id, text, visibleIf, isAnchored }) => ({ id, text, visibleIf, isAnchored })),
    });
    const ofQuestion = async () =>
      (await admin.get(`/surveys/${surveyId}`)).questions.find(({ id }: any) => id === question.id).options;
    const before = await ofQuestion();
    const [, second] = await suggest(question.id);
    assert.equal((await decide(second.id, 'accept')).status, 200);
    assert.deepEqual(
      (await ofQuestion()).map(({ text }: any) => text),
      ['All new'],
    );
    assert.equal((await decide(second.id, 'undo')).status, 200);
    assert.deepEqual(await ofQuestion(), before);
    assert.equal((await decide(second.id, 'accept')).status, 200);
    assert.equal((await admin.call('DELETE', `/surveys/${surveyId}/questions/${asked.id}`)).status, 200);
    assert.equal((await decide(second.id, 'undo')).status, 200);
    const { visibleIf: _, ...unconditional } = before[0];
    assert.deepEqual(await ofQuestion(), [unconditional, before[1]]);
  });

  it('a suggestion that is accepted or undone makes a version, which names who did it', async () => {
    const { surveyId, question } = await make();
    const [suggestion] = await suggest(question.id);
    for (const what of ['accept', 'undo', 'reject'])
      assert.equal((await decide(suggestion.id, what)).status, 200, what);
    const versions = await admin.get(`/surveys/${surveyId}/versions`);
    assert.deepEqual(
      versions.map(({ version, changes }: any) => [version, changes.map(({ action }: any) => action)]),
      [
        [4, ['ai.used']],
        [3, ['ai.used']],
        [2, ['question.created']],
        [1, ['survey.created']],
      ],
    );
  });

  it('a suggestion is rejected once and then changes nothing', async () => {
    const { surveyId, question } = await make();
    const [first] = await suggest(question.id);
    assert.equal((await admin.post(`/ai/suggestions/${first.id}/reject`)).status, 'REJECTED');
    for (const what of ['accept', 'reject'])
      assertRefused(await decide(first.id, what), 409, 'CONFLICT', 'ALREADY_DECIDED');
    assert.deepEqual(await questionNow(surveyId), question);
  });

  it('a suggestion removes no option of an answered question, but may reword and add', async () => {
    const { surveyId, question } = await make({ status: 'ACTIVE' });
    assert.equal(
      (await admin.submit(surveyId, { answers: [{ questionId: question.id, optionId: question.options[0].id }] }))
        .status,
      201,
    );
    const [first, second] = await suggest(question.id);
    assertRefused(await decide(second.id, 'accept'), 409, 'CONFLICT', 'HAS_RESPONSES');
    assert.deepEqual(await questionNow(surveyId), question);
    assert.equal((await decide(first.id, 'accept')).status, 200);
    assert.equal((await decide(first.id, 'undo')).status, 200);
    assert.deepEqual(await questionNow(surveyId), question);
  });

  it('a question without faults gets no suggestion, and new suggestions replace pending ones', async () => {
    const { question } = await make();
    const [, second] = await suggest(question.id);
    ai.answer = () => ({ suggestions: [] });
    assert.deepEqual(await suggest(question.id), []);
    assertRefused(await decide(second.id, 'accept'), 404, 'NOT_FOUND');
  });

  it('suggestions are refused where AI is off, after two invalid replies, and for unknown questions', async () => {
    const { surveyId, question } = await make();
    const before = await suggest(question.id);
    const [first] = before;
    await admin.put(`/surveys/${surveyId}`, { aiEnabled: false });
    ai.calls.length = 0;
    assertRefused(await optimise(question.id), 409, 'AI_DISABLED');
    for (const what of ['accept', 'reject', 'undo']) assertRefused(await decide(first.id, what), 409, 'AI_DISABLED');
    assert.equal(ai.calls.length, 0);
    await admin.put(`/surveys/${surveyId}`, { aiEnabled: true });
    ai.answer = () => ({ suggestions: [{ aspect: 'bias', problem: 'It leads', text: 'No placeholder', options: [] }] });
    assertRefused(await optimise(question.id), 502, 'AI_PROVIDER_ERROR');
    assert.equal(ai.calls.length, 2);
    assert.deepEqual((await admin.get(`/ai/questions/${question.id}/suggestions`)).suggestions, before);
    assertRefused(await optimise(surveyId), 404, 'NOT_FOUND');
    assert.equal((await optimise(question.id, { provider: 'acme' })).status, 400);
    assert.equal((await optimise(question.id, { prompt: 'x'.repeat(1024 * 1024) })).status, 413);
    assert.ok(!service.logs().includes(standInKey));
  });
});
