import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareAll, compareCells, splitAnswers } from '../../../src/replay/compare.ts';
import { type DetectedQuestion, recogniseColumn } from '../../../src/replay/recognise.ts';
import type { Statistic } from '../../../src/replay/replies.ts';
import { answersOf } from '../../../src/replay/row-answers.ts';
import type { ImportedQuestion } from '../../../src/replay/types/adapter.ts';
import { typeAdapters } from '../../../src/replay/types/adapters.ts';

/** A question over the columns 0, 1, … as the service would have made it: ids `#text`, values in upper case. */
function made(
  type: DetectedQuestion['type'],
  more: Partial<DetectedQuestion> & { columns?: string[] } = {},
): ImportedQuestion {
  const { columns = ['it'], options = [], dayOrder = 'year', scale } = more;
  const found: DetectedQuestion = {
    type,
    text: `a ${type}`,
    items: columns.map((text, index) => ({ index, text })),
    options,
    dayOrder,
    ...(scale && { scale }),
  };
  const named = (texts: readonly string[]) =>
    new Map(texts.map((text) => [text, { id: `#${text}`, value: text.toUpperCase() }]));
  const isOfItems = type === 'CHECKBOXES' || type === 'RANKING';
  return {
    found,
    id: 'q',
    options: named(isOfItems ? columns : options),
    rows: named(type === 'MATRIX' ? columns : []),
  };
}

const statistic = (shown: Partial<Statistic> = {}): Statistic => ({
  questionId: 'q',
  responseCount: 0,
  skippedCount: 0,
  averageValue: null,
  minValue: null,
  maxValue: null,
  distribution: {},
  ...shown,
});

const counted = (question: ImportedQuestion, rows: string[][], shown: Partial<Statistic> = {}) =>
  typeAdapters[question.found.type].count(question, rows, statistic(shown)).inFile;
const answers = (question: ImportedQuestion, row: string[]) =>
  answersOf([question], row).map(({ questionId: _, ...answer }) => answer);
const problem = ({ found }: ImportedQuestion, ...row: string[]) => typeAdapters[found.type].problem(found, row);

describe('a row of a replayed file', () => {
  it('becomes one answer of a choice, or yes or no in upper or lower case', () => {
    const choice = made('MULTIPLE_CHOICE', { options: ['Red', 'Blue'] });
    assert.deepEqual(answers(choice, [' Blue ']), [{ optionId: '#Blue' }]);
    assert.deepEqual(answers(made('YES_NO'), ['YES']), [{ textValue: 'yes' }]);
    assert.equal(problem(choice, 'blue'), 'answers that are none of the options');
    assert.equal(problem(made('YES_NO'), 'maybe'), 'answers other than yes and no');
  });

  it('becomes an answer for every ticked option, whatever the mark', () => {
    const list = made('CHECKBOXES', { columns: ['One', 'Two', 'No'] });
    assert.deepEqual(answers(list, ['One', '', '']), [{ optionId: '#One' }]);
    assert.deepEqual(answers(list, ['x', '0', 'No']), [{ optionId: '#One' }, { optionId: '#No' }]);
    assert.deepEqual(answers(list, ['0', 'no', '']), []);
  });

  it('becomes ranks, unless they repeat, have a gap or are not whole numbers', () => {
    const ranking = made('RANKING', { columns: ['a', 'b', 'c'] });
    assert.deepEqual(answers(ranking, ['2', '', '1']), [
      { optionId: '#a', rank: 2 },
      { optionId: '#c', rank: 1 },
    ]);
    assert.equal(problem(ranking, '1', '1', '2'), 'rankings that give a rank twice');
    assert.equal(problem(ranking, '1', '', '3'), 'rankings with a gap between the ranks');
    assert.equal(problem(ranking, '1', '2.5', ''), 'rankings with something else than whole numbers from 1');
    assert.deepEqual(answers(ranking, ['1', '1', '2']), []);
  });

  it('becomes an answer for every filled row of a matrix', () => {
    const grid = made('MATRIX', { columns: ['Food', 'Staff'], options: ['Good', 'Bad'] });
    assert.deepEqual(answers(grid, ['Bad', '']), [{ rowId: '#Food', optionId: '#Bad' }]);
    assert.deepEqual(answers(grid, ['Bad', 'So so']), []);
  });

  it('becomes numbers, dates and texts in the form of the API', () => {
    assert.deepEqual(answers(made('NUMBER'), ['-4.50']), [{ numberValue: -4.5 }]);
    assert.deepEqual(answers(made('DATE', { dayOrder: 'month' }), ['12/31/2024']), [{ textValue: '2024-12-31' }]);
    assert.deepEqual(answers(made('LONG_TEXT'), ['one\ntwo']), [{ textValue: 'one\ntwo' }]);
    const unfit: [DetectedQuestion['type'], string][] = [
      ['NUMBER', 'n/a'],
      ['NUMBER', '007'],
      ['NPS', '11'],
      ['NPS', '7.5'],
      ['TIME', '25:00'],
      ['EMAIL', 'a@b'],
      ['SHORT_TEXT', 'one\ntwo'],
      ['SHORT_TEXT', 'x'.repeat(256)],
      ['LONG_TEXT', 'a\0b'],
    ];
    for (const [type, cell] of unfit)
      assert.notEqual(problem(made(type), cell), undefined, `${type} ${cell.slice(0, 10)}`);
  });

  it('is said to have a day whose day and month may be either, or none of the calendar', () => {
    assert.equal(problem(made('DATE'), '3/4/2024'), 'days whose day and month may be either');
    assert.equal(problem(made('DATE'), '2024-02-30'), 'answers that are no days of the calendar');
  });

  it('has times of day whose hour has one digit, as spreadsheets write them', () => {
    const time = made('TIME');
    assert.equal(recogniseColumn(['1:01', '9:05:30', '13:30']).type, 'TIME');
    assert.deepEqual(answers(time, ['9:05']), [{ textValue: '09:05' }]);
    assert.deepEqual(counted(time, [['9:05'], ['09:30:00'], ['13:30']]), { '09': 2, 13: 1 });
    assert.notEqual(problem(time, '9:5'), undefined);
  });

  it('leaves empty cells unanswered and counts answers that are left out', () => {
    const number = made('NUMBER');
    const rows = [['1'], [''], [' '], ['n/a'], ['none'], ['2']];
    const { submitted, leftOut } = splitAnswers(number, rows);
    assert.deepEqual(submitted, [['1'], ['2']]);
    assert.deepEqual([...leftOut], [['answers that are no plain numbers', 2]]);
  });
});

describe('counts of the file', () => {
  it('have the cells of analytics, by the values of the service', () => {
    assert.deepEqual(counted(made('DROPDOWN', { options: ['Red', 'Blue'] }), [['Red'], ['Blue'], ['Red']]), {
      RED: 2,
      BLUE: 1,
    });
    assert.deepEqual(counted(made('YES_NO'), [['Yes'], ['NO'], ['no']]), { yes: 1, no: 2 });
    assert.deepEqual(
      counted(made('CHECKBOXES', { columns: ['a', 'b'] }), [
        ['a', 'b'],
        ['a', ''],
      ]),
      { A: 2, B: 1 },
    );
    assert.deepEqual(
      counted(made('RANKING', { columns: ['a', 'b'] }), [
        ['1', '2'],
        ['2', '1'],
        ['1', ''],
      ]),
      { A: { 1: 2, 2: 1 }, B: { 1: 1, 2: 1 } },
    );
    assert.deepEqual(
      counted(made('MATRIX', { columns: ['Food', 'Staff'], options: ['Good', 'Bad'] }), [
        ['Good', 'Bad'],
        ['Good', ''],
      ]),
      { FOOD: { GOOD: 2 }, STAFF: { BAD: 1 } },
    );
    assert.deepEqual(counted(made('DATE', { dayOrder: 'day' }), [['31.12.2024'], ['31.12.2024'], ['1.2.2024']]), {
      '2024-12-31': 2,
      '2024-02-01': 1,
    });
    assert.deepEqual(counted(made('TIME'), [['09:30'], ['09:59:59'], ['23:00']]), { '09': 2, 23: 1 });
    assert.deepEqual(counted(made('EMAIL'), [['a@Example.org'], ['b@example.org']]), { 'example.org': 2 });
    assert.deepEqual(counted(made('SHORT_TEXT'), [['A fine, fine day'], ['Fine']]), { fine: 3, day: 1 });
  });

  it('use the bins of analytics, the last one with its upper edge', () => {
    const bins = { '0–5': 0, '5–10': 0 };
    assert.deepEqual(counted(made('NUMBER'), [['0'], ['5'], ['9.5'], ['10']], { distribution: bins }), {
      '0–5': 1,
      '5–10': 3,
      smallest: 0,
      largest: 10,
      mean: 6.125,
      'in no bin': 0,
    });
    assert.equal(counted(made('NUMBER'), [['4'], ['11']], { distribution: bins })['in no bin'], 1);
    assert.deepEqual(counted(made('NUMBER'), [['-7.5'], ['-2.5']], { distribution: { '-7.5–-5': 0, '-5–-2.5': 0 } }), {
      '-7.5–-5': 1,
      '-5–-2.5': 1,
      smallest: -7.5,
      largest: -2.5,
      mean: -5,
      'in no bin': 0,
    });
    assert.deepEqual(counted(made('NPS'), [['9'], ['9']], { distribution: { 8: 0, 9: 0 } }), {
      8: 0,
      9: 2,
      smallest: 9,
      largest: 9,
      mean: 9,
      'in no bin': 0,
    });
  });

  it('include the fifty words shown, or all words if fewer are shown', () => {
    const few = typeAdapters.SHORT_TEXT.count(
      made('SHORT_TEXT'),
      [['one two']],
      statistic({ topWords: [{ word: 'one', count: 1 }] }),
    );
    assert.deepEqual(few, { inFile: { one: 1, two: 1 }, inService: { one: 1 } });
    const topWords = Array.from({ length: 50 }, (_, index) => ({ word: `w${index + 10}`, count: 1 }));
    const many = typeAdapters.SHORT_TEXT.count(
      made('SHORT_TEXT'),
      [[`${topWords.map(({ word }) => word).join(' ')} rare`]],
      statistic({ topWords }),
    );
    assert.deepEqual(many.inFile, many.inService);
  });
});

describe('the comparison', () => {
  it('reports every cell that differs and takes a missing one for 0', () => {
    assert.deepEqual(compareCells('q', { inFile: { a: 1, b: { c: 2 } }, inService: { a: 1, b: { c: 3 }, d: 0 } }), {
      cells: 3,
      differences: [{ where: 'q', cell: 'b › c', inFile: 2, inService: 3 }],
    });
    assert.equal(compareCells('q', { inFile: { a: 1 }, inService: {} }).differences.length, 1);
    assert.equal(compareCells('q', { inFile: {}, inService: { a: 1 } }).differences.length, 1);
  });

  it('tolerates the last digits of a mean but no difference of a count', () => {
    assert.equal(
      compareCells('q', { inFile: { mean: 1 / 3 }, inService: { mean: 1 / 3 + 1e-12 } }).differences.length,
      0,
    );
    assert.equal(compareCells('q', { inFile: { mean: 0.3 }, inService: { mean: 0.3001 } }).differences.length, 1);
    assert.equal(compareCells('q', { inFile: { n: 1e12 }, inService: { n: 1e12 + 1 } }).differences.length, 1);
    assert.equal(compareCells('q', { inFile: { mean: 1 }, inService: { mean: Number.NaN } }).differences.length, 1);
  });

  it('includes the numbers of responses and of answers to each question', () => {
    const question = made('YES_NO');
    const rows = [['Yes'], ['No'], [''], ['maybe']];
    const analytics = (shown: Partial<Statistic>, all = 4) => ({
      totalResponses: all,
      completeResponses: all,
      questionStats: [statistic({ responseCount: 2, skippedCount: 2, distribution: { yes: 1, no: 1 }, ...shown })],
    });
    assert.deepEqual(compareAll([question], rows, analytics({})), { cells: 6, differences: [] });
    assert.deepEqual(compareAll([question], rows, analytics({ responseCount: 3 })).differences, [
      { where: 'a YES_NO', cell: 'answered', inFile: 2, inService: 3 },
    ]);
    assert.deepEqual(
      compareAll([question], rows, analytics({ distribution: { yes: 2, no: 0 } })).differences.map(({ cell }) => cell),
      ['yes', 'no'],
    );
    assert.deepEqual(
      compareAll([question], rows, analytics({}, 5)).differences.map(({ cell }) => cell),
      ['all', 'complete'],
    );
  });
});
