import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withNotAskedBits } from '../../../../src/domain/not-asked.ts';
import type { AnswerRow, GivenAnswer } from '../../../../src/domain/questions/contract.ts';
import { changeQuestion } from '../../../../src/domain/questions/question-definition.ts';
import { acceptableAnswers } from '../../../../src/domain/submission/acceptable-answers.ts';
import { checkAnswers, compileSurvey, readAnswers } from '../../../../src/domain/submission/answers.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { no, type QuestionSketch, saysYes, surveyOf, withFields, yes, yesNo } from '../../../support/path-surveys.ts';
import { nextId } from '../../../support/questions.ts';

const uploads = new Map();
const context = { language: 'en', metadata: {} };
const labels = ['a', 'b', 'c', 'd'].map((value) => ({ text: value, value }));

function check(
  survey: SurveyWithQuestions,
  answers: readonly GivenAnswer[],
  { isComplete = true, previous }: { isComplete?: boolean; previous?: AnswerRow } = {},
) {
  return checkAnswers(compileSurvey(survey), answers, { isComplete, uploads, context, previous });
}

describe('answers to questions that offer only some of their options', () => {
  /** At least three of what was chosen before. */
  const chain = () => {
    const { survey, questions } = surveyOf([
      { type: 'CHECKBOXES', options: labels },
      (before) => ({
        type: 'CHECKBOXES',
        options: labels,
        isRequired: true,
        settings: { minSelections: 3 },
        optionsFrom: { questionId: before[0]?.id ?? '', which: 'selected' },
      }),
    ]);
    const choose = (place: number, ...options: number[]): GivenAnswer[] =>
      options.map((option) => ({
        questionId: questions[place]?.id ?? '',
        optionId: questions[place]?.options[option]?.id as string,
      }));
    return { survey: withNotAskedBits(survey), choose, id: questions[1]?.id };
  };

  it('need no more than are offered', () => {
    const { survey, choose } = chain();
    assert.equal(check(survey, [...choose(0, 0, 1), ...choose(1, 0, 1)]).ok, true);
    assert.equal(check(survey, [...choose(0, 2), ...choose(1, 2)]).ok, true);
    const all = [0, 1, 2, 3];
    assert.deepEqual(check(survey, [...choose(0, ...all), ...choose(1, 0, 1)]), {
      ok: false,
      issues: [{ path: 'answers.4', message: 'choose at least 3' }],
    });
    assert.equal(check(survey, [...choose(0, ...all), ...choose(1, 0, 1, 2)]).ok, true);
  });

  it('are asked for again where hidden options of an earlier save leave too few', () => {
    const { survey, choose, id } = chain();
    const saved = check(survey, [...choose(0, 0, 1, 2, 3), ...choose(1, 0, 1, 2)], { isComplete: false });
    assert.ok(saved.ok);
    assert.deepEqual(check(survey, choose(0, 1, 2, 3), { previous: saved.row }), {
      ok: false,
      issues: [{ path: `answers.${id}`, message: 'choose at least 3' }],
    });
  });
});

describe('an answer that chooses too few', () => {
  it('is refused on the path alone, in parts too, whether or not an option has a condition', () => {
    for (const hasConditions of [false, true]) {
      const { survey: plain, questions } = surveyOf([
        yesNo,
        ([first]) => ({
          type: 'CHECKBOXES',
          options: labels.map((label) => ({ ...label, ...(hasConditions && { visibleIf: saysYes(first) }) })),
          settings: { minSelections: 2 },
          visibleIf: saysYes(first),
        }),
      ]);
      const survey = withNotAskedBits(plain);
      const [asked = assert.fail(), boxes = assert.fail()] = questions;
      const choose = (...options: number[]): GivenAnswer[] =>
        options.map((option) => ({ questionId: boxes.id, optionId: boxes.options[option]?.id as string }));
      const issues = [{ path: 'answers.1', message: 'choose at least 2' }];
      for (const isComplete of [true, false]) {
        assert.deepEqual(check(survey, [yes(asked), ...choose(0)], { isComplete }), { ok: false, issues });
        assert.ok(check(survey, [yes(asked), ...choose(0, 1)], { isComplete }).ok);
      }
      const off = check(survey, [no(asked), ...choose(0)]);
      assert.deepEqual(off.ok && off.path?.ignored, [boxes.id]);
      const part = check(survey, choose(0), { isComplete: false });
      assert.ok(part.ok, 'a part keeps what may come on the path');
      assert.ok(check(survey, [yes(asked)], { isComplete: false, previous: part.row }).ok, 'it judges its own answers');
      assert.deepEqual(check(survey, [yes(asked)], { previous: part.row }), {
        ok: false,
        issues: [{ path: `answers.${boxes.id}`, message: 'choose at least 2' }],
      });
      assert.ok(check(survey, [no(asked)], { previous: part.row }).ok);
    }
  });
});

const soups = {
  id: nextId(),
  name: 'Soups',
  code: 1,
  limit: 5,
  counts: 'COMPLETED',
  whenFull: 'OVER_QUOTA',
  isActive: true,
  version: 1,
} as const;

describe('an earlier answer to a question that asks for more choices by now', () => {
  it('stays in a survey without paths, whether or not it has quotas and other questions are required', () => {
    for (const [isRequired, hasQuota] of [true, false].flatMap((one) => [true, false].map((other) => [one, other]))) {
      const { survey, questions } = surveyOf([
        { ...yesNo, isRequired },
        { type: 'CHECKBOXES', options: labels },
      ]);
      const [asked = assert.fail(), boxes = assert.fail()] = questions;
      const quotas = hasQuota ? [{ ...soups, where: saysYes(asked) }] : [];
      const choice = { questionId: boxes.id, optionId: boxes.options[0]?.id as string };
      const part = check({ ...survey, quotas }, [choice], { isComplete: false });
      const stricter = survey.questions.map((question) =>
        question.id === boxes.id ? { ...question, settings: { ...question.settings, minSelections: 2 } } : question,
      );
      assert.ok(part.ok);
      const done = check({ ...survey, quotas, questions: stricter }, [yes(asked)], { previous: part.row });
      assert.ok(done.ok, JSON.stringify({ isRequired, hasQuota }));
    }
  });
});

describe('an answer that the path does not offer', () => {
  it('is reported at the field that names it', () => {
    const { survey: plain, questions } = surveyOf([
      yesNo,
      { type: 'MATRIX', options: labels, settings: { rows: labels.slice(0, 2) } },
      { type: 'LIKERT_SCALE', options: labels },
      { type: 'MULTIPLE_CHOICE', options: labels },
    ]);
    const [asked, grid, scale, single] = questions as [Question, Question, Question, Question];
    const visibleIf = saysYes(asked);
    const hiding = <T extends object>(items: readonly T[]) =>
      items.map((item, index) => (index === 1 ? { ...item, visibleIf } : item));
    const rows = withFields(plain, grid.id, { rows: hiding(grid.rows) });
    const columns = withFields(plain, grid.id, { options: hiding(grid.options) });
    const points = withFields(plain, scale.id, { options: hiding(scale.options) });
    const choices = withFields(plain, single.id, { options: hiding(single.options) });
    const second = ({ id, options }: Question) => ({ questionId: id, optionId: options[1]?.id as string });
    const cell = { ...second(grid), rowId: grid.rows[1]?.id as string };
    const issuesOf = (survey: SurveyWithQuestions, answer: GivenAnswer) => {
      const checked = check(withNotAskedBits(survey), [no(asked), answer]);
      return checked.ok ? undefined : checked.issues;
    };
    for (const [survey, answer, field] of [
      [rows, cell, 'rowId'],
      [columns, cell, 'optionId'],
      [points, second(scale), 'optionId'],
      [points, { questionId: scale.id, numberValue: 2 }, 'numberValue'],
      [choices, second(single), 'optionId'],
    ] as const)
      assert.deepEqual(issuesOf(survey, answer), [
        { path: `answers.1.${field}`, message: 'is not offered on this path' },
      ]);
  });
});

describe('the answers that a submission would be taken with', () => {
  it('are found in one walk, however many choose less than is asked for', async () => {
    const { survey, questions } = surveyOf([
      { type: 'CHECKBOXES', options: labels },
      ...Array.from(
        { length: 40 },
        () =>
          (before: readonly Question[]): QuestionSketch => ({
            type: 'CHECKBOXES',
            options: labels,
            settings: { minSelections: 2 },
            optionsFrom: { questionId: before[0]?.id ?? '', which: 'selected' },
            visibleIf: { metadata: 'channel', operator: 'equalsText', value: 'web' },
          }),
      ),
    ]);
    let looks = 0;
    const metadata = {
      get channel() {
        looks += 1;
        return 'web';
      },
    };
    const answers = questions.flatMap(({ id, options }, place) =>
      options.slice(0, place === 0 ? 2 : 1).map((option) => ({ questionId: id, optionId: option.id })),
    );
    const pause = () => Promise.resolve();
    const accepted = await acceptableAnswers(compileSurvey(survey), answers, { context: { metadata }, pause });
    assert.deepEqual(accepted, answers.slice(0, 2));
    assert.equal(looks, 40);
  });
});

describe('a required question whose saved answer names a deleted option', () => {
  it('is answered, whether or not others have conditions', () => {
    for (const type of ['MATRIX', 'MULTIPLE_CHOICE', 'CHECKBOXES', 'RANKING', 'LIKERT_SCALE'] as const)
      for (const hasConditions of [false, true]) {
        const settings = type === 'MATRIX' ? { settings: { rows: labels.slice(0, 2) } } : {};
        const { survey, questions } = surveyOf([
          { type, options: labels, isRequired: true, ...settings },
          yesNo,
          ([, before]) => ({ type: 'SHORT_TEXT', ...(hasConditions && { visibleIf: saysYes(before) }) }),
        ]);
        const [asked = assert.fail()] = questions;
        const given = { questionId: asked.id, optionId: asked.options[3]?.id as string };
        const [first, second] = asked.rows.map(({ id: rowId }) => ({ ...given, rowId }));
        const saved = check(survey, first && second ? [first, second] : [given], { isComplete: false });
        assert.ok(saved.ok);
        const options = asked.options.slice(0, 3).map(({ id, text }) => ({ id, text }));
        const changed = changeQuestion(asked, { options }, { hasAnswers: true, newId: nextId });
        assert.ok('question' in changed);
        const present = withNotAskedBits(withFields(survey, asked.id, changed.question));
        const done = check(present, [], { previous: saved.row });
        assert.ok(done.ok, `${type} ${JSON.stringify(done)}`);
        assert.equal(readAnswers(compileSurvey(present), done.row).length, second ? 2 : 1);
        // A row without an answer still needs one.
        if (!first) continue;
        const half = check(survey, [first], { isComplete: false });
        assert.ok(half.ok && !check(present, [], { previous: half.row }).ok);
      }
  });
});

describe('a saved answer that names a deleted column', () => {
  it('stays where another row is hidden', () => {
    for (const isRequired of [true, false]) {
      const rows = (before: Question | undefined) => [labels[0], { ...labels[1], visibleIf: saysYes(before) }];
      const { survey, questions } = surveyOf([
        yesNo,
        ([first]) => ({ type: 'MATRIX', options: labels, isRequired, settings: { rows: rows(first) } }),
      ]);
      const [asked = assert.fail(), grid = assert.fail()] = questions;
      const cell = (row: number, column: number): GivenAnswer => ({
        questionId: grid.id,
        rowId: grid.rows[row]?.id as string,
        optionId: grid.options[column]?.id as string,
      });
      const saved = check(survey, [yes(asked), cell(0, 3), cell(1, 0)], { isComplete: false });
      assert.ok(saved.ok);
      const options = grid.options.slice(0, 3).map(({ id, text }) => ({ id, text }));
      const changed = changeQuestion(grid, { options }, { hasAnswers: true, newId: nextId });
      assert.ok('question' in changed);
      const present = withNotAskedBits(withFields(survey, grid.id, changed.question));
      const done = check(present, [no(asked)], { previous: saved.row });
      assert.ok(done.ok, JSON.stringify(done));
      assert.deepEqual(readAnswers(compileSurvey(present), done.row).slice(1), [cell(0, 3)]);
    }
  });
});

describe('a ranking of an earlier save of which an item is hidden', () => {
  const { survey: plain, questions } = surveyOf([
    { type: 'CHECKBOXES', options: labels },
    (before) => ({
      type: 'RANKING',
      options: labels,
      optionsFrom: { questionId: before[0]?.id ?? '', which: 'selected' },
    }),
    (before) => ({
      type: 'SHORT_TEXT',
      visibleIf: {
        questionId: before[1]?.id ?? '',
        operator: 'rankedAtMost',
        optionId: before[1]?.options[2]?.id ?? '',
        rank: 1,
      },
    }),
  ]);
  const survey = withNotAskedBits(plain);
  const [chosen, ranked, text] = questions.map(({ id }) => id) as [string, string, string];
  const options = (place: number, ...values: number[]): GivenAnswer[] =>
    values.map((value) => ({
      questionId: questions[place]?.id ?? '',
      optionId: questions[place]?.options[value]?.id as string,
    }));

  it('has ranks without a gap, and the path sees the same ones', () => {
    const saved = check(survey, [...options(0, 0, 1, 2), ...options(1, 1, 2, 0)], { isComplete: false });
    assert.ok(saved.ok);
    const done = check(survey, [...options(0, 0, 2), { questionId: text, textValue: 'why' }], { previous: saved.row });
    assert.ok(done.ok, JSON.stringify(done));
    assert.deepEqual(done.path?.ignored, []);
    const answers = readAnswers(compileSurvey(survey), done.row);
    const [, , third = assert.fail()] = questions[1]?.options ?? [];
    assert.deepEqual(
      answers.filter(({ questionId }) => questionId === ranked),
      [
        { questionId: ranked, optionId: third.id, rank: 1 },
        { questionId: ranked, optionId: questions[1]?.options[0]?.id, rank: 2 },
      ],
    );
    assert.equal(answers.filter(({ questionId }) => questionId === chosen).length, 2);
    assert.equal(answers.at(-1)?.textValue, 'why');
  });
});

describe('a response that was saved while its survey had paths', () => {
  it('says nothing of unasked questions once every question is asked', () => {
    const { survey: plain, questions } = surveyOf([
      { type: 'YES_NO' },
      (before) => ({
        type: 'SHORT_TEXT',
        visibleIf: { questionId: before[0]?.id ?? '', operator: 'answered' },
      }),
    ]);
    const survey = withNotAskedBits(plain);
    const saved = check(survey, [], { isComplete: false });
    assert.ok(saved.ok);
    assert.ok(saved.row.codes.some((code) => code !== 0));
    const { visibleIf: _, ...open } = survey.questions[1] as (typeof survey.questions)[number];
    const later = { ...withFields(survey, questions[1]?.id ?? '', {}), questions: [survey.questions[0], open] };
    const done = check(later as SurveyWithQuestions, [], { previous: saved.row });
    assert.ok(done.ok);
    assert.deepEqual(readAnswers(compileSurvey(later as SurveyWithQuestions), done.row), []);
    assert.ok(done.row.codes.every((code) => code === 0));
  });
});
