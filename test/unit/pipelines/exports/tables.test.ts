import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import type { CountResult } from '../../../../src/domain/questions/contract.ts';
import { tableOf } from '../../../../src/pipelines/exports/tables.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const rows = [
  { text: 'Food', value: 'food' },
  { text: 'Service', value: 'service' },
];

/** A grid that ten people answered. */
function grid(
  columns: readonly string[],
  results: CountResult[],
  settings: Record<string, unknown> = {},
  partBases: number[] = [],
) {
  const { question } = withQuestion(blankSurvey(), {
    type: 'MATRIX',
    text: 'How is each?',
    options: columns.map((text) => ({ text })),
    settings: { rows, ...settings },
  });
  return tableOf({ question, statistic: interpretQuestion(question, results, { base: 10, partBases }, 12) });
}
const codes = (...counts: number[]): CountResult => ({
  kind: 'codes',
  counts: new Map(counts.map((count, index) => [index + 1, count])),
});
const bits = (...counts: number[]): CountResult => ({ kind: 'bits', counts });
const percentsOf = ({ lines }: ReturnType<typeof tableOf>) =>
  lines.map(({ cells }) => cells.map(({ percent }) => percent));

describe('the printed table of a MATRIX', () => {
  it('has percentages of those who answered the row if a row takes one answer', () => {
    const table = grid(['Good', 'Bad'], [codes(6, 4), codes(1, 3)]);
    assert.deepEqual(percentsOf(table), [
      [60, 40],
      [25, 75],
    ]);
    assert.equal(table.chart, 'lines');
  });

  it('has percentages of those who answered the row if several answers may be chosen too, and no chart of parts', () => {
    const table = grid(['Fast', 'Cheap'], [bits(10, 5), bits(0, 2)], { multiple: true }, [10, 4]);
    assert.deepEqual(percentsOf(table), [
      [100, 50],
      [0, 50],
    ]);
    assert.equal(table.chart, 'bars');
  });

  it('counts a removed column that some rows do not have, whatever it is called', () => {
    const { question } = withQuestion(blankSurvey(), {
      type: 'MATRIX',
      text: 'Who was good?',
      options: [{ text: 'Plumber' }, { text: 'Constructor' }],
      settings: { rows },
    });
    const options = question.options.map((option, place) => ({ ...option, isHidden: place === 1 }));
    const statistic = interpretQuestion(
      { ...question, options },
      [codes(3, 1), codes(4)],
      { base: 4, partBases: [] },
      4,
    );
    const { lines } = tableOf({ question: { ...question, options }, statistic });
    assert.deepEqual(
      lines.map(({ cells }) => cells.map(({ count }) => count)),
      [
        [3, 1],
        [4, 0],
      ],
    );
  });

  it('has means of numbered columns only', () => {
    assert.deepEqual(grid(['1', '2', '3'], [codes(5, 0, 5), codes(0, 0, 4)]).measures, [
      { name: 'Mean', of: 'Food', value: 2, printed: '2' },
      { name: 'Mean', of: 'Service', value: 3, printed: '3' },
    ]);
    assert.deepEqual(grid(['Good', 'Bad'], [codes(6, 4), codes(1, 3)]).measures, []);
    assert.deepEqual(grid(['0', '1', '2'], [codes(5, 0, 5), codes(0, 0, 4)]).measures, []);
    assert.deepEqual(grid(['1', '2'], [bits(10, 5), bits(0, 2)], { multiple: true }).measures, []);
  });
});

type Body = Parameters<typeof withQuestion>[1];
function printed(body: Body, results: CountResult[], answered: number) {
  const { question } = withQuestion(blankSurvey(), body);
  return tableOf({
    question,
    statistic: interpretQuestion(question, results, { base: answered, partBases: [] }, answered),
  });
}
const texts = (
  counts: readonly (readonly [string, number])[],
  others?: { keys: number; count: number },
): CountResult => ({ kind: 'text', counts: counts.map(([key, count]) => ({ key, count })), ...(others && { others }) });
const cellsOf = ({ lines }: ReturnType<typeof tableOf>) => lines[0]?.cells ?? [];
const numbers = (bins: readonly { low: number; high: number; count: number }[]): CountResult => ({
  kind: 'number',
  moments: {
    count: 100,
    average: 0.002980125,
    median: 0.00298,
    standardDeviation: 0.0011547,
    min: 0.001,
    max: 0.00496,
    bins,
  },
});

describe('printed tables', () => {
  it('have percentages of all who answered a RANKING, whether or not they ranked the item', () => {
    const table = printed(
      { type: 'RANKING', text: 'q', options: ['A', 'B', 'C'].map((text) => ({ text })) },
      [codes(95, 0, 0), codes(0, 50, 0), codes(5, 0, 0)],
      100,
    );
    assert.deepEqual(percentsOf(table), [
      [95, 0, 0],
      [0, 50, 0],
      [5, 0, 0],
    ]);
  });

  it('have mentions of words without percentages, and the number of words left out', () => {
    const words = Array.from({ length: 18 }, (_, index) => [`w${index}`, 40 - index] as const);
    const cells = cellsOf(printed({ type: 'SHORT_TEXT', text: 'q' }, [texts(words, { keys: 7, count: 9 })], 4));
    assert.deepEqual([cells[0], cells.length], [{ label: 'w0', count: 40, percent: null }, 16]);
    assert.deepEqual(cells.at(-1), { label: 'All others (10)', count: 25 + 24 + 23 + 9, percent: null, isRest: true });
    assert.equal(cellsOf(printed({ type: 'SHORT_TEXT', text: 'q' }, [texts([['no', 2]])], 2)).length, 1);
  });

  it('say how many answers the most frequent ones leave out', () => {
    const domains = Array.from({ length: 50 }, (_, index) => [`d${index}.org`, index < 40 ? 2 : 1] as const);
    const cells = cellsOf(printed({ type: 'EMAIL', text: 'q' }, [texts(domains)], 90));
    assert.deepEqual([cells.length, cells.at(-1)?.label, cells.at(-1)?.count], [41, 'All others (10)', 10]);
    assert.equal(cells.reduce((sum, { percent }) => sum + (percent ?? 0), 0).toFixed(6), '100.000000');
  });

  it('show days in order of time, and many days by month, year or decade', () => {
    const days = (...given: (readonly [string, number])[]) => printed({ type: 'DATE', text: 'q' }, [texts(given)], 100);
    const few = days(['2026-03-02', 5], ['2026-02-27', 1]);
    assert.deepEqual(
      cellsOf(few).map(({ label, count }) => [label, count]),
      [
        ['2026-02-27', 1],
        ['2026-03-02', 5],
      ],
    );
    assert.deepEqual(
      few.timeline?.map(({ label }) => label),
      ['2026-02-27', '2026-02-28', '2026-03-01', '2026-03-02'],
      'the chart has no gaps',
    );
    const spread = (count: number, dayOf: (index: number) => Date) =>
      days(...Array.from({ length: count }, (_, index) => [dayOf(index).toISOString().slice(0, 10), 1] as const));
    const months = cellsOf(spread(60, (index) => new Date(Date.UTC(2025, 10, 1 + index))));
    assert.deepEqual(
      months.map(({ label, count }) => [label, count]),
      [
        ['2025-11', 30],
        ['2025-12', 30],
      ],
    );
    const decades = cellsOf(spread(80, (index) => new Date(Date.UTC(1931 + index, 5, 1))));
    assert.deepEqual(
      [decades[0]?.label, decades.length, decades.reduce((sum, { count }) => sum + count, 0)],
      ['1930–1939', 9, 80],
    );
  });

  it('name options by their wording in the author’s order, even if their values look like days', () => {
    const chosen = (values: readonly string[]) =>
      printed(
        {
          type: 'MULTIPLE_CHOICE',
          text: 'Which suits you?',
          options: values.map((value, index) => ({ text: `Choice ${index}`, value })),
        },
        [codes(...values.map(() => 2))],
        2 * values.length,
      );
    const evenings = chosen(['2026-12-02', '2026-12-01']);
    assert.deepEqual(
      [cellsOf(evenings).map(({ label }) => label), evenings.timeline],
      [['Choice 0', 'Choice 1'], undefined],
    );
    assert.deepEqual(
      cellsOf(chosen(['4711-00-12', '4711-00-13'])).map(({ label }) => label),
      ['Choice 0', 'Choice 1'],
      'which are no days at all',
    );
  });

  it('name ranges as the API does, and print small numbers with their significant digits', () => {
    const table = printed(
      { type: 'NUMBER', text: 'q' },
      [
        numbers([
          { low: 0.001, high: 0.001198, count: 60 },
          { low: 0.001198, high: 0.00496, count: 40 },
        ]),
      ],
      100,
    );
    assert.deepEqual(
      cellsOf(table).map(({ label }) => label),
      ['0.001–0.001198', '0.001198–0.00496'],
    );
    assert.deepEqual(
      table.measures.map(({ name, value, printed: text }) => [name, value, text]),
      [
        ['Mean', 0.002980125, '0.00298'],
        ['Median', 0.00298, '0.00298'],
        ['Standard deviation', 0.0011547, '0.001155'],
        ['Minimum', 0.001, '0.001'],
        ['Maximum', 0.00496, '0.00496'],
      ],
    );
  });

  it('have the lowest and highest answer as given, however long', () => {
    const extremes = (min: number, max: number) => {
      const table = printed(
        { type: 'NUMBER', text: 'q' },
        [{ kind: 'number', moments: { count: 2, average: 1, median: 1, standardDeviation: 1, min, max, bins: [] } }],
        2,
      );
      return table.measures.flatMap(({ name, printed: text }) =>
        name === 'Minimum' || name === 'Maximum' ? [text] : [],
      );
    };
    assert.deepEqual(extremes(1_732_212_345_678, Number.MAX_SAFE_INTEGER), ['1732212345678', '9007199254740991']);
    assert.deepEqual(extremes(0.1 + 0.2, 1_732_212_345_678.5), ['0.3', '1732212345678.5']);
  });

  it('print top and bottom boxes with one decimal, and none if nobody answered', () => {
    const likert: Body = { type: 'LIKERT_SCALE', text: 'q' };
    const boxOf = (table: ReturnType<typeof tableOf>) => table.measures.find(({ name }) => name === 'Top box');
    assert.deepEqual(boxOf(printed(likert, [codes(2, 0, 0, 0, 1)], 3)), {
      name: 'Top box',
      value: (1 / 3) * 100,
      printed: '33.3 %',
      isPercent: true,
    });
    assert.equal(boxOf(printed(likert, [codes()], 0)), undefined);
  });
});

it('a printed table tells how many were not asked', () => {
  const { question } = withQuestion(blankSurvey(), { type: 'YES_NO', text: 'Again?' });
  const statistic = interpretQuestion(question, [codes(3, 1)], { base: 4, partBases: [], notAsked: 5 }, 12);
  const { answered, skipped, notAsked } = tableOf({ question, statistic });
  assert.deepEqual([answered, skipped, notAsked], [4, 3, 5]);
  const { notAskedCount: _, ...stored } = statistic;
  assert.equal(tableOf({ question, statistic: stored }).notAsked, 0);
});
