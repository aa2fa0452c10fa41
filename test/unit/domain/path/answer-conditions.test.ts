import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AnswerTest } from '../../../../src/domain/path/definition.ts';
import { holds } from '../../../support/answer-tests.ts';
import { labels, type QuestionSketch } from '../../../support/path-surveys.ts';

interface Case {
  sketch: QuestionSketch;
  test: AnswerTest & { rowId?: string };
  /** Answers that make it true, and such that make it false. */
  yes: Record<string, unknown>[][];
  no: Record<string, unknown>[][];
  /** Its value without an answer; default: false. */
  unanswered?: boolean;
}

const option = (...values: string[]) => values.map((optionId) => ({ optionId }));
const number = (numberValue: number) => [{ numberValue }];
const text = (textValue: string) => [{ textValue }];
const inRow = (rowId: string, ...values: string[]) => values.map((optionId) => ({ rowId, optionId }));
const ranked = (...values: string[]) => values.map((optionId, index) => ({ optionId, rank: index + 1 }));

const choice: QuestionSketch = { type: 'MULTIPLE_CHOICE', options: labels, settings: { allowOther: true } };
const dropdown: QuestionSketch = { type: 'DROPDOWN', options: labels };
const boxes: QuestionSketch = { type: 'CHECKBOXES', options: labels };
const grid: QuestionSketch = { type: 'MATRIX', options: labels, settings: { rows: labels } };
const multiGrid: QuestionSketch = { ...grid, settings: { rows: labels, multiple: true } };
const ranking: QuestionSketch = { type: 'RANKING', options: labels };
const tenths: QuestionSketch = { type: 'SLIDER', settings: { min: 0, max: 1, step: 0.1 } };

const cases: Record<string, Case> = {
  'MULTIPLE_CHOICE isAnyOf': {
    sketch: choice,
    test: { operator: 'isAnyOf', optionIds: ['ant', 'bee'] },
    yes: [option('ant'), option('bee')],
    no: [option('cat'), text('Else')],
  },
  'MULTIPLE_CHOICE isAnyOf "other"': {
    sketch: choice,
    test: { operator: 'isAnyOf', optionIds: ['other', 'bee'] },
    yes: [text('Else'), option('bee')],
    no: [option('ant'), text('   ')],
  },
  'MULTIPLE_CHOICE isNoneOf': {
    sketch: choice,
    test: { operator: 'isNoneOf', optionIds: ['ant'] },
    yes: [option('bee'), text('Else')],
    no: [option('ant')],
    unanswered: true,
  },
  'DROPDOWN isAnyOf': {
    sketch: dropdown,
    test: { operator: 'isAnyOf', optionIds: ['cat'] },
    yes: [option('cat')],
    no: [option('ant'), option('no such option')],
  },
  'DROPDOWN isNoneOf': {
    sketch: dropdown,
    test: { operator: 'isNoneOf', optionIds: ['cat'] },
    yes: [option('ant')],
    no: [option('cat')],
    unanswered: true,
  },
  'YES_NO isAnyOf': {
    sketch: { type: 'YES_NO' },
    test: { operator: 'isAnyOf', optionIds: ['yes'] },
    yes: [option('yes'), text('yes')],
    no: [option('no'), text('no'), text('perhaps')],
  },
  'YES_NO isNoneOf': {
    sketch: { type: 'YES_NO' },
    test: { operator: 'isNoneOf', optionIds: ['no'] },
    yes: [text('yes')],
    no: [text('no')],
    unanswered: true,
  },
  'LIKERT_SCALE isAnyOf': {
    sketch: { type: 'LIKERT_SCALE' },
    test: { operator: 'isAnyOf', optionIds: ['agree', 'strongly-agree'] },
    yes: [option('agree'), number(4), number(5)],
    no: [option('neutral'), number(3), number(6), number(4.5)],
  },
  'LIKERT_SCALE isNoneOf': {
    sketch: { type: 'LIKERT_SCALE' },
    test: { operator: 'isNoneOf', optionIds: ['agree'] },
    yes: [number(5)],
    no: [number(4)],
    unanswered: true,
  },
  'LIKERT_SCALE between points': {
    sketch: { type: 'LIKERT_SCALE' },
    test: { operator: 'between', min: 4 },
    yes: [option('agree'), number(5)],
    no: [number(3)],
  },
  'LIKERT_SCALE equals a point': {
    sketch: { type: 'LIKERT_SCALE' },
    test: { operator: 'equals', value: 1 },
    yes: [option('strongly-disagree'), number(1)],
    no: [number(2)],
  },
  'LIKERT_SCALE notEquals a point': {
    sketch: { type: 'LIKERT_SCALE' },
    test: { operator: 'notEquals', value: 1 },
    yes: [number(2)],
    no: [number(1)],
    unanswered: true,
  },
  'CHECKBOXES includesAny': {
    sketch: boxes,
    test: { operator: 'includesAny', optionIds: ['ant', 'bee'] },
    yes: [option('bee', 'cat'), option('ant')],
    no: [option('cat')],
  },
  'CHECKBOXES includesAll': {
    sketch: boxes,
    test: { operator: 'includesAll', optionIds: ['ant', 'bee'] },
    yes: [option('bee', 'ant'), option('ant', 'bee', 'cat')],
    no: [option('ant', 'cat'), option('ant', 'ant')],
  },
  'CHECKBOXES includesNone': {
    sketch: boxes,
    test: { operator: 'includesNone', optionIds: ['ant'] },
    yes: [option('bee')],
    no: [option('bee', 'ant')],
    unanswered: true,
  },
  'CHECKBOXES countBetween': {
    sketch: boxes,
    test: { operator: 'countBetween', min: 2, max: 2 },
    yes: [option('ant', 'cat')],
    no: [option('ant'), option('ant', 'bee', 'cat'), option('ant', 'ant')],
  },
  'CHECKBOXES countBetween 0 and 1, which no unanswered question is': {
    sketch: boxes,
    test: { operator: 'countBetween', max: 1 },
    yes: [option('ant')],
    no: [option('ant', 'cat')],
  },
  'MATRIX row answered': {
    sketch: grid,
    test: { operator: 'answered', rowId: 'bee' },
    yes: [inRow('bee', 'ant')],
    no: [inRow('ant', 'ant')],
  },
  'MATRIX row notAnswered': {
    sketch: grid,
    test: { operator: 'notAnswered', rowId: 'bee' },
    yes: [inRow('ant', 'ant')],
    no: [inRow('bee', 'ant')],
    unanswered: true,
  },
  'MATRIX answered means any row': {
    sketch: grid,
    test: { operator: 'answered' },
    yes: [inRow('cat', 'ant'), [...inRow('ant', 'ant'), ...inRow('bee', 'bee')]],
    no: [[{ optionId: 'ant' }], [{ rowId: 'ant' }], inRow('no such row', 'ant')],
  },
  'MATRIX row isAnyOf': {
    sketch: grid,
    test: { operator: 'isAnyOf', rowId: 'bee', optionIds: ['ant', 'bee'] },
    yes: [inRow('bee', 'ant')],
    no: [inRow('bee', 'cat'), inRow('ant', 'ant')],
  },
  'MATRIX row isNoneOf, also if only other rows are answered': {
    sketch: grid,
    test: { operator: 'isNoneOf', rowId: 'bee', optionIds: ['ant'] },
    yes: [inRow('bee', 'cat'), inRow('ant', 'ant')],
    no: [inRow('bee', 'ant')],
    unanswered: true,
  },
  'MATRIX with multiple: row includesAny': {
    sketch: multiGrid,
    test: { operator: 'includesAny', rowId: 'bee', optionIds: ['ant'] },
    yes: [inRow('bee', 'cat', 'ant')],
    no: [inRow('bee', 'cat'), inRow('ant', 'ant')],
  },
  'MATRIX with multiple: row includesAll': {
    sketch: multiGrid,
    test: { operator: 'includesAll', rowId: 'bee', optionIds: ['ant', 'cat'] },
    yes: [inRow('bee', 'cat', 'ant')],
    no: [inRow('bee', 'cat'), [...inRow('bee', 'cat'), ...inRow('ant', 'ant')]],
  },
  'MATRIX with multiple: row includesNone': {
    sketch: multiGrid,
    test: { operator: 'includesNone', rowId: 'bee', optionIds: ['ant'] },
    yes: [inRow('bee', 'cat'), inRow('ant', 'ant')],
    no: [inRow('bee', 'cat', 'ant')],
    unanswered: true,
  },
  'MATRIX with multiple: row countBetween': {
    sketch: multiGrid,
    test: { operator: 'countBetween', rowId: 'bee', min: 2 },
    yes: [inRow('bee', 'cat', 'ant')],
    no: [inRow('bee', 'cat'), inRow('ant', 'ant', 'bee')],
  },
  'RANKING rankedAtMost': {
    sketch: ranking,
    test: { operator: 'rankedAtMost', optionId: 'bee', rank: 2 },
    yes: [ranked('bee'), ranked('ant', 'bee'), option('ant', 'bee', 'cat')],
    no: [ranked('ant', 'cat', 'bee'), ranked('ant'), option('ant', 'cat', 'bee')],
  },
  'RATING_SCALE between, both ends included': {
    sketch: { type: 'RATING_SCALE' },
    test: { operator: 'between', min: 2, max: 4 },
    yes: [number(2), number(3), number(4)],
    no: [number(1), number(5), text('3')],
  },
  'NPS equals 0': {
    sketch: { type: 'NPS' },
    test: { operator: 'equals', value: 0 },
    yes: [number(0)],
    no: [number(1)],
  },
  'NPS notEquals': {
    sketch: { type: 'NPS' },
    test: { operator: 'notEquals', value: 10 },
    yes: [number(9)],
    no: [number(10)],
    unanswered: true,
  },
  'SLIDER equals a point that is missed by a rounding error': {
    sketch: tenths,
    test: { operator: 'equals', value: 0.1 + 0.2 },
    yes: [number(0.3), number(0.1 + 0.2)],
    no: [number(0.4)],
  },
  'SLIDER between ends that are missed by a rounding error': {
    sketch: tenths,
    test: { operator: 'between', min: 0.1 + 0.2, max: 0.6 },
    yes: [number(0.3), number(0.1 * 6)],
    no: [number(0.2), number(0.7)],
  },
  'NUMBER between, with one end': {
    sketch: { type: 'NUMBER' },
    test: { operator: 'between', max: -1.5 },
    yes: [number(-1.5), number(-1e15)],
    no: [number(0)],
  },
  'NUMBER equals': {
    sketch: { type: 'NUMBER' },
    test: { operator: 'equals', value: 0 },
    yes: [number(0), number(-0)],
    no: [number(1)],
  },
  'DATE between': {
    sketch: { type: 'DATE' },
    test: { operator: 'between', min: '2024-02-01', max: '2024-02-29' },
    yes: [text('2024-02-01'), text('2024-02-29')],
    no: [text('2024-01-31'), text('2024-03-01')],
  },
  'DATE equals': {
    sketch: { type: 'DATE' },
    test: { operator: 'equals', value: '2024-02-29' },
    yes: [text('2024-02-29')],
    no: [text('2024-02-28')],
  },
  'DATE notEquals': {
    sketch: { type: 'DATE' },
    test: { operator: 'notEquals', value: '2024-02-29' },
    yes: [text('2024-02-28')],
    no: [text('2024-02-29')],
    unanswered: true,
  },
  'TIME between, with seconds or without': {
    sketch: { type: 'TIME' },
    test: { operator: 'between', min: '08:30:00', max: '09:00' },
    yes: [text('08:30'), text('09:00'), text('09:00:00'), text('08:59:59')],
    no: [text('09:00:01'), text('08:29:59')],
  },
  'TIME equals, with seconds or without': {
    sketch: { type: 'TIME' },
    test: { operator: 'equals', value: '08:30' },
    yes: [text('08:30:00'), text('08:30')],
    no: [text('08:30:01')],
  },
  'SHORT_TEXT equalsText': {
    sketch: { type: 'SHORT_TEXT' },
    test: { operator: 'equalsText', value: ' STRASSE' },
    yes: [text('Straße'), text('strasse  ')],
    no: [text('Strasse 1'), text('str asse')],
  },
  'LONG_TEXT containsText': {
    sketch: { type: 'LONG_TEXT' },
    test: { operator: 'containsText', value: 'ΟΔΟΣ' },
    yes: [text('η οδος μου'), text('οδοσ')],
    no: [text('οδο')],
  },
  'EMAIL startsWithText': {
    sketch: { type: 'EMAIL' },
    test: { operator: 'startsWithText', value: 'Ann' },
    yes: [text('ann@example.org'), text('ANNA@example.org')],
    no: [text('jo.ann@example.org')],
  },
};

describe('a condition about an answer', () => {
  for (const [name, { sketch, test, yes, no, unanswered = false }] of Object.entries(cases))
    it(name, () => {
      for (const answers of yes) assert.equal(holds(sketch, answers, test), true, JSON.stringify(answers));
      for (const answers of no) assert.equal(holds(sketch, answers, test), false, JSON.stringify(answers));
      assert.equal(holds(sketch, [], test), unanswered, 'unanswered');
    });

  const answered: Record<string, [QuestionSketch, Record<string, unknown>[]]> = {
    MULTIPLE_CHOICE: [choice, option('ant')],
    'MULTIPLE_CHOICE by "other"': [choice, text('Else')],
    CHECKBOXES: [boxes, option('ant')],
    DROPDOWN: [dropdown, option('ant')],
    RATING_SCALE: [{ type: 'RATING_SCALE' }, number(1)],
    NPS: [{ type: 'NPS' }, number(0)],
    MATRIX: [grid, inRow('ant', 'ant')],
    RANKING: [ranking, ranked('ant')],
    SHORT_TEXT: [{ type: 'SHORT_TEXT' }, text('a')],
    LONG_TEXT: [{ type: 'LONG_TEXT' }, text('a')],
    EMAIL: [{ type: 'EMAIL' }, text('a@example.org')],
    NUMBER: [{ type: 'NUMBER' }, number(0)],
    DATE: [{ type: 'DATE' }, text('2024-02-29')],
    TIME: [{ type: 'TIME' }, text('00:00')],
    FILE_UPLOAD: [{ type: 'FILE_UPLOAD' }, text('an upload')],
    SLIDER: [{ type: 'SLIDER' }, number(0)],
    YES_NO: [{ type: 'YES_NO' }, text('no')],
    LIKERT_SCALE: [{ type: 'LIKERT_SCALE' }, number(1)],
  };
  for (const [type, [sketch, answers]] of Object.entries(answered))
    it(`${type} answered, notAnswered`, () => {
      assert.equal(holds(sketch, answers, { operator: 'answered' }), true);
      assert.equal(holds(sketch, [], { operator: 'answered' }), false);
      assert.equal(holds(sketch, answers, { operator: 'notAnswered' }), false);
      assert.equal(holds(sketch, [], { operator: 'notAnswered' }), true);
      assert.equal(holds(sketch, [{}], { operator: 'answered' }), false, 'an answer without a value');
    });

  it('takes blank texts for no answer', () => {
    for (const type of ['SHORT_TEXT', 'LONG_TEXT'] as const)
      assert.equal(holds({ type }, text(' \u00a0\n'), { operator: 'answered' }), false);
  });
});
