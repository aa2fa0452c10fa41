import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CountResult } from '../../../../src/domain/questions/contract.ts';
import { changeQuestion } from '../../../../src/domain/questions/question-definition.ts';
import { outerNames } from '../../../../src/domain/questions/reading-order.ts';
import { registry } from '../../../../src/domain/questions/registry.ts';
import { checkAnswers, compileSurvey } from '../../../../src/domain/submission/answers.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import { blankSurvey, nextId, withQuestion } from '../../../support/questions.ts';

const change = (
  question: Question,
  options: readonly { id?: string; text: string; value?: string }[],
  hasAnswers = true,
) =>
  changeQuestion(
    question,
    { options: options.map(({ id, text, value }) => ({ ...(id && { id }), text, ...(value && { value }) })) },
    { hasAnswers, newId: nextId },
  );
const changed = (...given: Parameters<typeof change>): Question => {
  const result = change(...given);
  assert.ok('question' in result, JSON.stringify(result));
  return result.question;
};
const likert = (): Question => withQuestion(blankSurvey(), { type: 'LIKERT_SCALE', text: 'q' }).question;
const statistic = (question: Question, counts: [code: number, count: number][]) =>
  registry[question.type].statistic(
    question,
    [{ kind: 'codes', counts: new Map(counts) } satisfies CountResult],
    counts.reduce((sum, [, count]) => sum + count, 0),
  );
/** The validation issue of an answer by number, if any. */
function said(question: Question, numberValue: number): string | undefined {
  const survey = { ...blankSurvey(), questions: [question], slotCounts: { codes: 1, numbers: 0, texts: 0 } };
  const checked = checkAnswers(compileSurvey(survey), [{ questionId: question.id, numberValue }], {
    isComplete: true,
    uploads: new Map(),
  });
  return checked.ok ? undefined : checked.issues[0]?.message;
}

describe('the options of a scale', () => {
  it('cannot be reordered or shifted once there are answers', () => {
    const question = likert();
    assert.ok('hasResponses' in change(question, question.options.toReversed()));
    assert.ok('hasResponses' in change(question, [{ text: 'At all events not' }, ...question.options]));
    const grid = withQuestion(blankSurvey(), {
      type: 'MATRIX',
      text: 'q',
      options: [{ text: 'Bad' }, { text: 'Good' }],
      settings: { rows: [{ text: 'Food' }] },
    }).question;
    assert.ok('hasResponses' in change(grid, grid.options.toReversed()));
    assert.ok(
      'question' in
        change(
          question,
          question.options.map((option) => ({ ...option, text: `${option.text}!` })),
        ),
      'wording is free',
    );
  });

  it('keep their points in averages after they are hidden', () => {
    const question = likert();
    const without = changed(question, question.options.slice(1));
    const { averageValue, minValue, maxValue, distribution, bottomBox, topBox } = statistic(without, [
      [1, 1],
      [5, 1],
    ]);
    assert.deepEqual([averageValue, minValue, maxValue, bottomBox?.count, topBox?.count], [3, 1, 5, 0, 1]);
    assert.equal(
      Object.values(distribution).reduce((sum: number, count) => sum + Number(count), 0),
      2,
    );
    const grid = withQuestion(blankSurvey(), {
      type: 'MATRIX',
      text: 'q',
      options: [{ text: 'Bad' }, { text: 'Fair' }, { text: 'Good' }],
      settings: { rows: [{ text: 'Food' }] },
    }).question;
    assert.deepEqual(
      statistic(changed(grid, grid.options.slice(1)), [
        [1, 1],
        [3, 1],
      ]).averageByRow,
      { food: 2 },
    );
  });

  it('have the same end points for every selection, so that the boxes of groups add up to that of all', () => {
    const question = withQuestion(blankSurvey(), {
      type: 'LIKERT_SCALE',
      text: 'q',
      options: ['A', 'B', 'C', 'D', 'DK'].map((text) => ({ text })),
    }).question;
    const shorter = changed(
      question,
      [0, 2, 3].map((index) => question.options[index] as (typeof question.options)[number]),
    );
    const boxes = (...counts: [number, number][]) =>
      (({ topBox, bottomBox }) => [topBox, bottomBox])(statistic(shorter, counts));
    assert.deepEqual(boxes([1, 1], [2, 2], [3, 1], [4, 4], [5, 2]), [
      { count: 4, percent: 40 },
      { count: 1, percent: 10 },
    ]);
    assert.deepEqual(boxes([4, 2]), [
      { count: 2, percent: 100 },
      { count: 0, percent: 0 },
    ]);
    assert.deepEqual(boxes([1, 1], [2, 2], [3, 1], [4, 2], [5, 2]), [
      { count: 2, percent: 25 },
      { count: 1, percent: 12.5 },
    ]);
  });

  it('are ordered by point in distributions, tables and reports, hidden ones included', () => {
    const question = withQuestion(blankSurvey(), {
      type: 'LIKERT_SCALE',
      text: 'q',
      options: ['A', 'B', 'C', 'D'].map((text) => ({ text })),
    }).question;
    const shorter = changed(
      question,
      [0, 2, 3].map((index) => question.options[index] as (typeof question.options)[number]),
    );
    const found = statistic(shorter, [
      [2, 3],
      [4, 1],
    ]);
    assert.deepEqual(Object.keys(found.distribution), ['a', 'b', 'c', 'd']);
    assert.deepEqual(
      outerNames(shorter).map(({ value }) => value),
      ['a', 'b', 'c', 'd'],
    );
    const dimension = registry.LIKERT_SCALE.dimension(shorter);
    assert.ok(typeof dimension !== 'string');
    assert.deepEqual(
      dimension.categories.map(({ value }) => value),
      ['a', 'b', 'c', 'd'],
    );
  });

  it('keep their points for answers by number', () => {
    const question = likert();
    const without = changed(question, question.options.slice(1));
    assert.deepEqual([said(without, 5), said(without, 2)], [undefined, undefined]);
    assert.equal(said(without, 1), 'must be one of 2, 3, 4, 5');
    assert.equal(said(question, 6), 'must be a whole number from 1 to 5');
  });

  it('may be extended at the end, and hidden ones return to their place', () => {
    const question = likert();
    const longer = changed(question, [...question.options, { text: 'Absolutely' }]);
    assert.equal(statistic(longer, [[6, 1]]).averageValue, 6);
    const without = changed(
      longer,
      longer.options.filter(({ code }) => code !== 3),
    );
    const back = changed(without, longer.options);
    assert.deepEqual(
      [
        said(back, 3),
        statistic(back, [
          [1, 1],
          [3, 1],
        ]).averageValue,
      ],
      [undefined, 2],
    );
    assert.ok(
      'hasResponses' in
        change(without, [...longer.options.filter(({ code }) => code !== 3), { text: 'Neutral', value: 'neutral' }]),
    );
  });

  it('follow the displayed order while nobody has answered', () => {
    const question = likert();
    const turned = changed(question, question.options.toReversed(), false);
    assert.equal(statistic(turned, [[5, 1]]).averageValue, 1);
    const short = changed(question, question.options.slice(1), false);
    assert.equal(said(short, 5), 'must be a whole number from 1 to 4');
    const answered = changed(short, [...question.options.slice(1), { text: 'Absolutely' }]);
    assert.equal(statistic(answered, [[6, 1]]).averageValue, 5, 'what was hidden before the first answer is no point');
  });

  it('that were hidden before points were stored return to their place', () => {
    const question = likert();
    const bare = question.options.map(({ point: _, ...option }) => option);
    const stored: Question = {
      ...question,
      options: bare.map((option) => ({ ...option, isHidden: option.code === 3 })),
    };
    const back = changed(stored, bare);
    assert.deepEqual(
      back.options.map(({ code, point }) => [code, point]),
      [1, 2, 3, 4, 5].map((code) => [code, code]),
    );
    assert.equal(statistic(back, [[3, 1]]).averageValue, 3);
    assert.ok('hasResponses' in change(stored, bare.toReversed()), 'another order is none of them');
    const newer = changed(
      question,
      question.options.filter(({ code }) => code !== 3),
    );
    assert.equal(newer.options.find(({ code }) => code === 5)?.point, 5);
  });
});
