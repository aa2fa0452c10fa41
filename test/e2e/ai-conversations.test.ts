import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AiFixture, aiProviders } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import type { Client } from '../support/client.ts';
import { draftQuestion } from '../support/draft-question.ts';
import { eventually } from '../support/eventually.ts';
import { signInNewUser } from '../support/new-user.ts';
import { useAi } from '../support/use-ai.ts';

const question = (text: string) => draftQuestion('MULTIPLE_CHOICE', text, { options: ['Good', 'Poor'] });

/** A first draft as large as asked for, then a question more with every turn. */
function spoken({ user }: SeenCall): unknown {
  const { draft, message, questionCount } = JSON.parse(user[0] ?? '{}');
  const texts = draft
    ? [...draft.questions.map(({ text }: any) => text), message]
    : Array.from({ length: questionCount ?? 6 }, (_, index) => `Question ${index + 1}`);
  return {
    message: `There are ${texts.length} questions. More?`,
    title: 'Lunch',
    description: null,
    sections: [],
    questions: texts.map(question),
  };
}

describe('AI conversations about a survey draft', () => {
  let service: AiFixture['service'];
  let ai: AiFixture['ai'];
  let admin: Client;
  useAi(
    (scene) => {
      ({ service, ai, admin } = scene);
    },
    { answer: spoken },
  );
  const begin = async (body: object = {}) =>
    admin.create('/ai/conversations', { prompt: 'About our canteen', ...body });
  const say = (id: string, message: unknown) =>
    admin.call('POST', `/ai/conversations/${id}/messages`, { body: { message } });
  const reasonOf = (reply: { status: number; body: any }) => [reply.status, reply.body.details?.reason];

  for (const provider of aiProviders)
    it(`a draft changes turn by turn with ${provider} and is saved as a survey once`, async () => {
      const first = await begin({ provider, questionCount: 5 });
      assert.equal(first.draft.questions.length, 5);
      const second = (await say(first.conversationId, 'And the price?')).body.data;
      assert.equal(second.message, 'There are 6 questions. More?');
      assert.deepEqual(
        second.draft.questions.map(({ text }: any) => text),
        ['Question 1', 'Question 2', 'Question 3', 'Question 4', 'Question 5', 'And the price?'],
      );
      assert.ok(ai.calls.every(({ wire, system }) => wire === provider && !system.includes('canteen')));
      assert.deepEqual(JSON.parse(ai.calls[1]?.user[0] ?? '{}').said, [
        { role: 'user', text: 'About our canteen' },
        { role: 'assistant', text: 'There are 5 questions. More?' },
      ]);
      assert.deepEqual(await admin.get(`/ai/conversations/${first.conversationId}`), second);
      const saves = await Promise.all(
        [1, 2, 3].map(() => admin.call('POST', `/ai/conversations/${first.conversationId}/save`)),
      );
      assert.deepEqual(saves.map(reasonOf).sort(), [
        [201, undefined],
        [409, 'ALREADY_SAVED'],
        [409, 'ALREADY_SAVED'],
      ]);
      const survey = saves.find(({ status }) => status === 201)?.body.data;
      assert.deepEqual([survey.status, survey.questions.length], ['DRAFT', 6]);
      assert.deepEqual((await admin.get(`/surveys/${survey.id}`)).questions, survey.questions);
      assert.deepEqual(reasonOf(await say(first.conversationId, 'More')), [409, 'ALREADY_SAVED']);
    });

  it('of two concurrent messages one is accepted', async () => {
    const { conversationId } = await begin();
    ai.calls.length = 0;
    let answer = (): void => undefined;
    ai.holdUntil = new Promise((resolve) => {
      answer = resolve;
    });
    const both = Promise.all([say(conversationId, 'One'), say(conversationId, 'Two')]);
    await eventually(() => assert.equal(ai.calls.length, 2)).finally(answer);
    const replies = await both;
    assert.deepEqual(replies.map(reasonOf).sort(), [
      [200, undefined],
      [409, 'CONVERSATION_CHANGED'],
    ]);
    assert.equal((await admin.get(`/ai/conversations/${conversationId}`)).draft.questions.length, 7);
  });

  it('an invalid reply leaves the draft unchanged', async () => {
    const first = await begin();
    ai.answer = () => ({ message: 'None left', title: 'Lunch', description: null, sections: [], questions: [] });
    const reply = await say(first.conversationId, 'Delete everything');
    assert.deepEqual([reply.status, reply.body.code], [502, 'AI_PROVIDER_ERROR']);
    assert.deepEqual(await admin.get(`/ai/conversations/${first.conversationId}`), first);
  });

  it('a draft with unusual characters is stored', async () => {
    ai.answer = () => ({
      message: 'Done\0 \ud800',
      title: 'Lun\0ch',
      description: null,
      sections: [],
      questions: [question('Why\0?')],
    });
    const { conversationId, message, draft } = await begin();
    assert.deepEqual([message, draft.title, draft.questions[0].text], ['Done \ufffd', 'Lunch', 'Why?']);
    assert.equal((await admin.create(`/ai/conversations/${conversationId}/save`)).title, 'Lunch');
  });

  it('a part of the draft is saved, in a language, and a wrong part claims nothing', async () => {
    const { conversationId } = await begin({ questionCount: 5 });
    const save = (body: object) => admin.call('POST', `/ai/conversations/${conversationId}/save`, { body });
    for (const [wrong, path] of [
      [{ questions: [] }, 'questions'],
      [{ questions: [0, 5] }, 'questions.1'],
      [{ questions: [1, 1] }, 'questions'],
      [{ questions: [-1] }, 'questions.0'],
      [{ language: 'not a language' }, 'language'],
      [{ title: 'x' }, 'title'],
    ] as const) {
      const { status, body } = await save(wrong);
      assert.deepEqual([status, body.details?.[0]?.path], [400, path], JSON.stringify(wrong));
    }
    assert.equal((await admin.get(`/ai/conversations/${conversationId}`)).surveyId, null);
    const { status, body } = await save({ questions: [3, 0], language: 'de' });
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(
      [body.data.language, body.data.questions.map(({ text }: any) => text)],
      ['de', ['Question 1', 'Question 4']],
    );
    const { surveyId, turns } = await admin.get(`/ai/conversations/${conversationId}`);
    assert.equal(surveyId, body.data.id);
    const [{ changes }] = await admin.get(`/surveys/${surveyId}/versions`);
    assert.deepEqual(
      changes.map(({ action }: any) => action),
      ['ai.used'],
    );
    assert.deepEqual(turns, [
      { role: 'user', text: 'About our canteen' },
      { role: 'assistant', text: 'There are 5 questions. More?' },
    ]);
  });

  it('a part of a draft that a turn has changed since it was read is not saved', async () => {
    const { conversationId, revision } = await begin({ questionCount: 5 });
    const save = (body: object) => admin.call('POST', `/ai/conversations/${conversationId}/save`, { body });
    ai.answer = () => ({
      message: 'Done',
      title: 'Lunch',
      description: null,
      sections: [],
      questions: ['Your home address?', 'Your salary?'].map(question),
    });
    const changed = (await say(conversationId, 'Ask for more')).body.data;
    assert.deepEqual(reasonOf(await save({ questions: [0, 1], revision })), [409, 'CONVERSATION_CHANGED']);
    assert.deepEqual(reasonOf(await save({ questions: [4], revision })), [409, 'CONVERSATION_CHANGED']);
    const read = await admin.get(`/ai/conversations/${conversationId}`);
    assert.deepEqual([read.surveyId, read.revision], [null, changed.revision]);
    assert.equal((await save({ questions: [0, 1], revision: read.revision })).status, 201);
    assert.deepEqual(reasonOf(await save({ questions: [0], revision })), [409, 'ALREADY_SAVED']);
  });

  it('a message about a draft that a turn has changed since it was read is refused, and asks no provider', async () => {
    const { conversationId, revision } = await begin({ questionCount: 5 });
    const sayOf = (seen: unknown) =>
      admin.call('POST', `/ai/conversations/${conversationId}/messages`, {
        body: { message: 'And the price?', revision: seen },
      });
    const changed = await sayOf(revision);
    assert.deepEqual([changed.status, changed.body.data?.revision], [200, revision + 1], JSON.stringify(changed.body));
    ai.calls.length = 0;
    assert.deepEqual(reasonOf(await sayOf(revision)), [409, 'CONVERSATION_CHANGED']);
    for (const wrong of [0, 1.5, '1', null]) assert.equal((await sayOf(wrong)).status, 400, JSON.stringify(wrong));
    assert.deepEqual(await admin.get(`/ai/conversations/${conversationId}`), changed.body.data);
    await admin.create(`/ai/conversations/${conversationId}/save`);
    assert.deepEqual(reasonOf(await sayOf(revision)), [409, 'ALREADY_SAVED']);
    assert.equal(ai.calls.length, 0);
  });

  it('sections and conditions of a part are those of its questions', async () => {
    const parts = (index: number) => ({ section: index < 2 ? 0 : 1 });
    ai.answer = () => ({
      message: 'Done',
      title: 'Lunch',
      description: null,
      sections: [
        { title: 'Food', description: null },
        { title: 'Place', description: null },
      ],
      questions: ['A', 'B', 'C', 'D'].map((text, index) => ({
        ...question(text),
        ...parts(index),
        ...(index === 1 && { onlyIfQuestion: 0, onlyIfOptions: ['Good'] }),
        ...(index === 3 && { onlyIfQuestion: 2, onlyIfOptions: ['Poor'] }),
      })),
    });
    const { conversationId } = await begin();
    const survey = await admin.create(`/ai/conversations/${conversationId}/save`, { questions: [2, 3] });
    assert.deepEqual(
      survey.sections.map(({ title }: any) => title),
      ['Place'],
    );
    assert.equal(survey.questions[1].visibleIf.questionId, survey.questions[0].id);
    const other = await begin();
    const rest = await admin.create(`/ai/conversations/${other.conversationId}/save`, { questions: [1, 3] });
    assert.deepEqual(
      rest.questions.map(({ text, visibleIf }: any) => [text, visibleIf]),
      [
        ['B', null],
        ['D', null],
      ],
    );
  });

  it('a conversation is hidden from other users', async () => {
    const { conversationId } = await begin();
    const eve = await signInNewUser(service, admin);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['POST', '/messages', { message: 'x' }],
      ['POST', '/save', undefined],
    ] as const)
      assert.equal(
        (await eve.call(method, `/ai/conversations/${conversationId}${path}`, body === undefined ? {} : { body }))
          .status,
        404,
      );
  });

  it('invalid messages are refused before any provider is called', async () => {
    const { conversationId } = await begin();
    ai.calls.length = 0;
    for (const wrong of [
      {},
      { prompt: '' },
      { prompt: 'x'.repeat(10_001) },
      { prompt: 'x', questionCount: 4 },
      { prompt: 'x', questionCount: 31 },
      { prompt: 'x', provider: 'acme' },
      { prompt: 'x', save: true },
    ])
      assert.equal(
        (await admin.call('POST', '/ai/conversations', { body: wrong })).status,
        400,
        JSON.stringify(wrong).slice(0, 80),
      );
    for (const wrong of ['', 5, 'x'.repeat(10_001), 'a\0b', 'a\ud800'])
      assert.equal((await say(conversationId, wrong)).status, 400);
    assert.equal(
      (await admin.call('POST', '/ai/conversations', { body: { prompt: 'x'.repeat(1024 * 1024) } })).status,
      413,
    );
    assert.equal(ai.calls.length, 0);
  });
});
