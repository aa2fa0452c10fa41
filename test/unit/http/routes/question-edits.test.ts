import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEditConflicts } from '../../../../src/actors/edit-conflicts.ts';
import type { SurveyActors } from '../../../../src/actors/survey-actors.ts';
import { createWordingChanges } from '../../../../src/actors/wording-changes.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { Problem } from '../../../../src/errors.ts';
import { questionRoutes } from '../../../../src/http/routes/questions.ts';
import { blankSurvey, nextId, withQuestion } from '../../../support/questions.ts';

/**
 * The route that changes a question, over a survey in memory; `answeredAt` says of each look whether answers are there.
 */
function setUp(start: { survey: SurveyWithQuestions; question: Question }, answeredAt: (look: number) => boolean) {
  const did: string[] = [];
  const state = { survey: start.survey, looks: [] as Question[] };
  const actors = {
    lookUp: async () => ({ survey: state.survey }),
    sync: async () => ({ survey: state.survey }),
    change: async (_id: string, decide: (current: SurveyWithQuestions) => Promise<{ survey: SurveyWithQuestions }>) => {
      state.survey = (await decide(state.survey)).survey;
      did.push('save');
      return state.survey;
    },
  } as unknown as SurveyActors;
  const hasAnswers = async (question: Question) => {
    did.push('look');
    return answeredAt(state.looks.push(question));
  };
  const freezeSubmissions = async () => {
    did.push('hold back');
    const release = async () => did.push('let on') > 0;
    return { revision: state.survey.revision, frozen: '', extend: async () => true, release };
  };
  const translations = {
    all: async () => [],
    withPlaceholders: async () => [],
    mergeIn: async () => assert.fail('no translation changes'),
  };
  const route = questionRoutes({
    actors,
    hasAnswers,
    freezeSubmissions,
    wording: createWordingChanges({ actors, translations, now: () => 0 }),
    editConflicts: createEditConflicts({ versions: { find: async () => undefined }, peek: () => undefined }),
    newId: nextId,
  }).find(({ method, path }) => method === 'PUT' && path.startsWith('/surveys/questions/'));
  const edit = (body: object) =>
    route?.handle({
      params: { questionId: start.question.id },
      query: { removeConditions: false },
      body,
      survey: start.survey,
    } as never);
  return { state, did, edit, question: () => state.survey.questions.find(({ id }) => id === start.question.id) };
}

const choice = () =>
  withQuestion(blankSurvey(), { type: 'MULTIPLE_CHOICE', text: 'Which?', options: [{ text: 'A' }, { text: 'B' }] });
const likert = () =>
  withQuestion(blankSurvey(), {
    type: 'LIKERT_SCALE',
    text: 'How much?',
    options: [{ text: 'low' }, { text: 'mid' }, { text: 'high' }],
  });
const isAnsweredMeanwhile = (error: unknown) =>
  error instanceof Problem && error.code === 'CONFLICT' && /answered just now/.test(error.message);

describe('a question that is changed while its first answers come in', () => {
  for (const [name, start, body] of [
    ['another type', choice(), { type: 'YES_NO' }],
    [
      'another value of an option',
      choice(),
      (question: Question) => ({
        options: question.options.map(({ id, text }, index) => ({ id, text, value: `v${index}` })),
      }),
    ],
    [
      'a scale in another order',
      likert(),
      (question: Question) => ({ options: question.options.toReversed().map(({ id, text }) => ({ id, text })) }),
    ],
  ] as const)
    it(`stays as it was, and its answers what they were: ${name}`, async () => {
      const { state, did, edit, question } = setUp(start, (look) => look > 1);
      await assert.rejects(
        async () => edit(typeof body === 'function' ? body(start.question) : body),
        isAnsweredMeanwhile,
      );
      assert.deepEqual(question(), start.question);
      assert.deepEqual(state.looks, [start.question, start.question]);
      assert.deepEqual(did, ['look', 'hold back', 'look', 'let on']);
    });

  it('is changed if it has no answers', async () => {
    const { did, edit, question } = setUp(choice(), () => false);
    await edit({ type: 'YES_NO' });
    assert.deepEqual(did, ['look', 'hold back', 'look', 'save']);
    assert.equal(question()?.type, 'YES_NO');
  });

  it('is not checked again if answers keep their meaning', async () => {
    for (const [start, body] of [
      [choice(), { text: 'Which one?', isRequired: true }],
      [choice(), { settings: { allowOther: true } }],
      [
        likert(),
        (question: Question) => ({
          options: [...question.options.map(({ id, text }) => ({ id, text })), { text: 'highest' }],
        }),
      ],
    ] as const) {
      const { did, edit } = setUp(start, () => false);
      await edit(typeof body === 'function' ? body(start.question) : body);
      assert.deepEqual(did, ['look', 'save']);
    }
  });

  it('is not checked again if it had answers before', async () => {
    const { state, edit } = setUp(likert(), () => true);
    await edit({ options: [{ id: state.survey.questions[0]?.options[2]?.id, text: 'most' }, { text: 'beyond' }] });
    assert.equal(state.looks.length, 1);
  });

  it('is refused with 503 if another call changes it at the same time', async () => {
    const start = choice();
    const { state, edit, question } = setUp(start, (look) => {
      if (look > 1)
        state.survey = {
          ...state.survey,
          questions: state.survey.questions.map((one) => ({ ...one, slots: { ...one.slots, codes: { '': 7 } } })),
        };
      return false;
    });
    await assert.rejects(
      async () => edit({ type: 'YES_NO' }),
      (error: unknown) => error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE',
    );
    assert.equal(question()?.type, 'MULTIPLE_CHOICE');
  });
});

describe('a question that a condition names', () => {
  it('keeps its type without a pause of submissions', async () => {
    const start = choice();
    const { survey: withNext, question: next } = withQuestion(start.survey, { type: 'NPS', text: 'Well?' });
    const visibleIf = { questionId: start.question.id, operator: 'isAnyOf' as const, optionIds: [optionOf(start)] };
    const survey = {
      ...withNext,
      questions: withNext.questions.map((question) =>
        question.id === next.id ? { ...question, visibleIf } : question,
      ),
    };
    const { did, edit } = setUp({ ...start, survey }, () => false);
    await assert.rejects(
      async () => edit({ type: 'NPS' }),
      (error) => error instanceof Problem && !Array.isArray(error.details) && 'broken' in (error.details ?? {}),
    );
    assert.deepEqual(did, ['look']);
  });
});

const optionOf = ({ question }: { question: Question }): string => question.options[0]?.id ?? '';
