import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askedSlots, askedSurvey, createStatusReader, withSkipped } from '../../../../src/domain/analytics/asked.ts';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import { skippedCode, skippedValue } from '../../../../src/domain/questions/contract.ts';
import { questionVariable } from '../../../../src/domain/questions/variable.ts';
import type { MatrixRow, Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

/** Positions: 0 YES_NO, 1 and 2 the rows of a MATRIX, 3 NPS, 4 the bits. */
function setUp(): {
  survey: SurveyWithQuestions;
  questions: Question[];
  status(codes: number[], isPartial?: boolean): string;
} {
  let survey = blankSurvey();
  for (const body of [
    { type: 'YES_NO', text: 'first' },
    {
      type: 'MATRIX',
      text: 'grid',
      options: [{ text: 'a' }, { text: 'b' }],
      settings: { rows: [{ text: 'one' }, { text: 'two' }] },
    },
    { type: 'NPS', text: 'last' },
  ] as const)
    survey = withQuestion(survey, body as never).survey;
  const [first, grid, last] = survey.questions;
  if (!first || !grid || !last) throw new Error('three questions');
  const questions = [
    { ...first, notAsked: { '': 64 } },
    { ...grid, notAsked: { '': 65, [grid.rows[1]?.id ?? '']: 66 } },
    { ...last, notAsked: { '': 67 } },
  ];
  const paths = { ...survey, questions };
  const read = createStatusReader(askedSurvey(paths));
  return {
    survey: paths,
    questions,
    status(codes, isPartial = false) {
      const statuses = read({ row: { codes }, outcome: isPartial ? 'PARTIAL' : 'COMPLETED', surveyVersion: 1 });
      const all = [
        ...questions.map(({ id }) => statuses.of(id)),
        ...grid.rows.map(({ id }) => statuses.ofRow(grid.id, id)),
      ];
      return all.map((one) => ({ ANSWERED: 'a', SKIPPED: 's', NOT_ASKED: '-' })[one]).join('');
    },
  };
}

describe('the status of a question in a stored response', () => {
  it('is not asked where its bit is set, and a row also where that of its question is', () => {
    const { status } = setUp();
    assert.equal(status([1, 1, 1, 1, 0]), 'aaaaa');
    assert.equal(status([0, 0, 0, 0, 0]), 'sssss');
    assert.equal(status([0, 0, 0, 0, 0b0001]), '-ssss');
    assert.equal(status([0, 0, 0, 0, 0b0010]), 's-s--');
    assert.equal(status([0, 1, 0, 0, 0b0100]), 'sasa-');
    assert.equal(status([0, 1, 0, 0, 0]), 'sasas');
    assert.equal(status([0, 0, 0, 1, 0b1000]), 'ssass', 'an answer counts, whatever the bit says');
    assert.equal(status([1]), 'assss', 'positions that a row does not have are empty');
  });

  it('is not asked after the last answered question of a partial response', () => {
    const { status } = setUp();
    assert.equal(status([0, 0, 0, 0, 0], true), '-----');
    assert.equal(status([1, 0, 0, 0, 0], true), 'a----');
    assert.equal(status([0, 1, 0, 0, 0], true), 'sa-as');
    assert.equal(status([0, 0, 0, 3, 0b0001], true), '-sass');
  });

  it('is not asked in responses to versions before the first that had the question, or the row', () => {
    const { survey } = setUp();
    const [first, grid, last] = survey.questions as [Question, Question, Question];
    const [one, two] = grid.rows as [MatrixRow, MatrixRow];
    const rows = [one, { ...two, firstVersion: 4 }];
    const grown = { ...survey, questions: [first, { ...grid, rows }, { ...last, firstVersion: 3 }] };
    const read = createStatusReader(askedSurvey(grown));
    const status = (surveyVersion: number, codes: number[]) => {
      const statuses = read({ row: { codes }, outcome: 'COMPLETED', surveyVersion });
      return [statuses.of(last.id), statuses.ofRow(grid.id, one.id), statuses.ofRow(grid.id, two.id)];
    };
    assert.deepEqual(status(2, []), ['NOT_ASKED', 'SKIPPED', 'NOT_ASKED']);
    assert.deepEqual(status(3, []), ['SKIPPED', 'SKIPPED', 'NOT_ASKED']);
    assert.deepEqual(status(4, []), ['SKIPPED', 'SKIPPED', 'SKIPPED']);
    assert.deepEqual(status(2, [0, 0, 1, 5]), ['ANSWERED', 'SKIPPED', 'ANSWERED']);
  });

  it('is not asked in responses to versions without the question or row, and answers to removed questions count', () => {
    const { survey } = setUp();
    const [first, grid, last] = survey.questions as [Question, Question, Question];
    const [one, two] = grid.rows as [MatrixRow, MatrixRow];
    const rows = [one, { ...two, isHidden: true, absentIn: [{ from: 2, to: 3 }, { from: 5 }] }];
    const removed = [
      { ...first, order: 0, isHidden: true, absentIn: [{ from: 4 }] },
      { ...last, order: 1, isHidden: true, absentIn: [{ from: 6 }] },
    ];
    const read = createStatusReader(askedSurvey({ ...survey, questions: [{ ...grid, order: 0, rows }, ...removed] }));
    const status = (surveyVersion: number, codes: number[], isPartial = false) => {
      const statuses = read({ row: { codes }, outcome: isPartial ? 'PARTIAL' : 'COMPLETED', surveyVersion });
      const all = [first, grid, last].map(({ id }) => statuses.of(id));
      return [...all, statuses.ofRow(grid.id, two.id)]
        .map((item) => ({ ANSWERED: 'a', SKIPPED: 's', NOT_ASKED: '-' })[item])
        .join('');
    };
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6].map((version) => status(version, [])),
      ['ssss', 'sss-', 'ssss', '-sss', '-ss-', '-s--'],
    );
    assert.equal(status(7, [1, 0, 0, 1]), 'asa-');
    const given = { ...grid, rows: [one, { ...two, absentIn: [{ from: 5 }] }] };
    const later = createStatusReader(askedSurvey({ ...survey, questions: [given] }));
    const ofRow = later({ row: { codes: [] }, outcome: 'COMPLETED', surveyVersion: 7 }).ofRow(grid.id, two.id);
    assert.equal(ofRow, 'SKIPPED', 'a former version of the service does not note that it gives a row again');
    assert.equal(status(1, [1], true), 'a---');
    assert.equal(status(1, [0, 1], true), 'sa-s');
    assert.equal(status(1, [0, 0, 0, 1], true), 'ssas');
    assert.equal(status(5, [0, 0, 0, 1], true), '-sa-');
  });

  it('is what the bits alone say in partial responses to versions that mark all that was not asked', () => {
    const { survey } = setUp();
    const [first, , last] = survey.questions as [Question, Question, Question];
    const read = createStatusReader(askedSurvey({ ...survey, partialsMarkedFrom: 3 }));
    const status = (surveyVersion: number, codes: number[]) => {
      const statuses = read({ row: { codes }, outcome: 'PARTIAL', surveyVersion });
      return [statuses.of(first.id), statuses.of(last.id)];
    };
    assert.deepEqual(status(2, [1]), ['ANSWERED', 'NOT_ASKED']);
    assert.deepEqual(status(3, [1]), ['ANSWERED', 'SKIPPED']);
    assert.deepEqual(status(3, [1, 0, 0, 0, 0b1000]), ['ANSWERED', 'NOT_ASKED']);
    assert.deepEqual(status(3, [0, 0, 0, 5, 0b0001]), ['NOT_ASKED', 'ANSWERED']);
  });

  it('does not list the options of each row, which are tens of thousands in large grids', () => {
    const { survey } = setUp();
    const options = (question: Question) =>
      question.options.map((option) => ({
        ...option,
        get text(): string {
          throw new Error('read');
        },
      }));
    const questions = survey.questions.map((question) => ({ ...question, options: options(question) }));
    assert.deepEqual(askedSurvey({ ...survey, questions }), askedSurvey(survey));
  });

  it('needs the positions of answers and bits', () => {
    const { survey } = setUp();
    assert.deepEqual([...new Set(askedSlots(askedSurvey(survey).questions))].sort(), [0, 1, 2, 3, 4]);
  });
});

describe('the category of those who skipped', () => {
  it('has the rule of the question, or of its row', () => {
    const { survey, questions } = setUp();
    const [first, grid] = questions;
    if (!first || !grid) throw new Error('two questions');
    const variable = (question: Question, row?: string) => {
      const dimension = questionVariable(question, row);
      if ('message' in dimension) throw new Error(dimension.message);
      return withSkipped(survey, dimension, question.id, row);
    };
    assert.deepEqual(variable(first).skipped, { slots: [0], notAsked: [{ slot: 4, mask: 1 }], later: [0, 1, 2, 3] });
    const marked = { ...survey, partialsMarkedFrom: 7 };
    assert.equal(withSkipped(marked, variable(first), first.id).skipped?.markedFrom, 7);
    assert.deepEqual(variable(first).categories.at(-1), { code: skippedCode, value: skippedValue, text: 'Skipped' });
    assert.deepEqual(variable(grid, grid.rows[1]?.value).skipped, {
      slots: [2],
      notAsked: [
        { slot: 4, mask: 2 },
        { slot: 4, mask: 4 },
      ],
      later: [1, 2, 3],
    });
  });

  it('has a value of its own beside an option that was given the usual one before it was reserved', () => {
    const { survey, question } = withQuestion(blankSurvey(), {
      type: 'DROPDOWN',
      text: 'Why?',
      options: [{ text: 'a' }],
    });
    const options = question.options.map((option) => ({ ...option, value: skippedValue }));
    const variable = questionVariable({ ...question, options });
    if ('message' in variable) throw new Error(variable.message);
    assert.deepEqual(
      withSkipped(survey, variable, question.id).categories.map(({ value, text }) => [value, text]),
      [
        ['__skipped__', 'a'],
        ['___skipped___', 'Skipped'],
      ],
    );
  });
});

describe('the base of a statistic', () => {
  it('is those who answered, or those who were asked; counts add up in both', () => {
    const [, , last] = setUp().questions;
    if (!last) throw new Error('three questions');
    const results = [{ kind: 'codes', counts: new Map([[11, 2]]) } as const];
    const of = (base?: 'asked') => interpretQuestion(last, results, { base: 2, partBases: [], notAsked: 3 }, 9, base);
    const { responseCount, skippedCount, askedCount, notAskedCount, base, topBox } = of();
    assert.deepEqual(
      { responseCount, skippedCount, askedCount, notAskedCount, base, topBox },
      {
        responseCount: 2,
        skippedCount: 4,
        askedCount: 6,
        notAskedCount: 3,
        base: 'answered',
        topBox: { count: 2, percent: 100 },
      },
    );
    assert.deepEqual([of('asked').base, of('asked').topBox], ['asked', { count: 2, percent: (2 / 6) * 100 }]);
    assert.deepEqual(of('asked').nps, of().nps, 'a score is of those who answered');
  });
});
