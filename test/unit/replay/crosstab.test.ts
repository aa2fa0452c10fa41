import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareCrosstab, defaultVariables, findVariable } from '../../../src/replay/crosstab.ts';
import { detect } from '../../../src/replay/detect.ts';
import type { DetectedQuestion } from '../../../src/replay/recognise.ts';
import type { CrosstabReply } from '../../../src/replay/replies.ts';
import { tableOf } from '../../../src/replay/table.ts';
import type { ImportedQuestion } from '../../../src/replay/types/adapter.ts';

const table = tableOf([
  ['Seen any?', 'Which?', '', 'Rank them', '', 'How was it?', '', 'Town', 'Why?'],
  ['Response', 'One', 'Two', 'One', 'Two', 'Food', 'Staff', 'Response', 'Response'],
  ['Yes', 'One', 'Two', '1', '2', 'Good', 'Bad', 'Rome', 'so'],
  ['Yes', 'One', '', '2', '1', 'Bad', 'Bad', 'Bern', 'well'],
  ['No', '', '', '', '', 'Good', '', 'Rome', 'as it is'],
  ['No', '', 'Two', '1', '1', '', '', 'Bern', 'nobody knows'],
]);
const { questions } = detect(table);

/** Values are the texts in lower case. */
const importedAs = (found: readonly DetectedQuestion[]): ImportedQuestion[] =>
  found.map((question, place) => {
    const named = (texts: readonly string[]) =>
      new Map(texts.map((text) => [text, { id: `#${text}`, value: text.toLowerCase() }]));
    return {
      found: question,
      id: `q${place}`,
      options: named(question.options.length > 0 ? question.options : question.items.map(({ text }) => text)),
      rows: named(question.items.map(({ text }) => text)),
    };
  });
const made = importedAs(questions);

function reply(
  cells: Record<string, Record<string, number>>,
  rowTotals: Record<string, number>,
  columnTotals: Record<string, number>,
  total: number,
): CrosstabReply {
  const heads = (totals: Record<string, number>) =>
    Object.entries(totals).map(([value, count]) => ({ value, text: value, total: count }));
  const [rows, columns] = [heads(rowTotals), heads(columnTotals)];
  return {
    rows,
    columns,
    total,
    cells: rows.map((row) => columns.map((column) => ({ count: cells[row.value]?.[column.value] ?? 0 }))),
    chiSquare: { statistic: null, degreesOfFreedom: 0, pValue: null },
    cramersV: null,
  };
}

describe('variables of a crosstab', () => {
  it('are found by wording, by a part of it, and by row or item', () => {
    assert.deepEqual(findVariable(questions, 'town'), { place: 4, item: undefined, title: 'Town' });
    assert.equal(findVariable(questions, 'seen').place, 0);
    assert.deepEqual(findVariable(questions, 'Staff'), { place: 3, item: 'Staff', title: 'How was it? › Staff' });
    assert.equal(findVariable(questions, 'rank them › two').item, 'Two');
    assert.equal(findVariable(questions, 'Rank them').item, undefined);
  });

  it('are refused if the name matches none, several, or a question that cannot be crossed', () => {
    assert.throws(() => findVariable(questions, 'Colour'), /No question reads “Colour”/);
    assert.throws(() => findVariable(questions, 'h'), /“h” may be “Which\?” or “Rank them” or/);
    assert.throws(
      () => findVariable(questions, 'How was it?'),
      /is crossed row by row: name one of its rows, such as “Food”/,
    );
    assert.throws(() => findVariable(questions, 'Why?'), /SHORT_TEXT, which cannot be crossed/);
  });

  it('are by default the first and the last single choice', () => {
    assert.deepEqual(
      defaultVariables(questions)?.map(({ title }) => title),
      ['Seen any?', 'Town'],
    );
    assert.equal(defaultVariables(questions.slice(0, 1)), undefined);
  });
});

describe('comparison of a crosstab', () => {
  const cross = (first: string, second: string, shown: CrosstabReply) =>
    compareCrosstab({
      questions: made,
      rows: table.rows,
      variables: [findVariable(questions, first), findVariable(questions, second)],
      reply: shown,
    }).differences;

  it('counts rows that answered both questions, once in each of their categories', () => {
    assert.deepEqual(
      cross(
        'Which?',
        'Town',
        reply({ one: { rome: 1, bern: 1 }, two: { rome: 1, bern: 1 } }, { one: 2, two: 2 }, { rome: 1, bern: 2 }, 3),
      ),
      [],
    );
  });

  it('counts a matrix row by its columns, a ranking by its first item, and a ranked item by its rank', () => {
    assert.deepEqual(
      cross(
        'Food',
        'Town',
        reply({ good: { rome: 2 }, bad: { bern: 1 } }, { good: 2, bad: 1 }, { rome: 2, bern: 1 }, 3),
      ),
      [],
    );
    assert.deepEqual(
      cross(
        'Rank them',
        'Town',
        reply({ one: { rome: 1 }, two: { bern: 1 } }, { one: 1, two: 1 }, { rome: 1, bern: 1 }, 2),
      ),
      [],
    );
    assert.deepEqual(
      cross(
        'Rank them › One',
        'Town',
        reply({ 1: { rome: 1 }, 2: { bern: 1 } }, { 1: 1, 2: 1 }, { rome: 1, bern: 1 }, 2),
      ),
      [],
    );
  });

  it('reports a cell, a total or a base that differs', () => {
    const right = { yes: { rome: 1, bern: 1 }, no: { rome: 1, bern: 1 } };
    assert.deepEqual(cross('Seen', 'Town', reply(right, { yes: 2, no: 2 }, { rome: 2, bern: 2 }, 4)), []);
    assert.deepEqual(
      cross(
        'Seen',
        'Town',
        reply({ ...right, no: { rome: 2, bern: 0 } }, { yes: 2, no: 2 }, { rome: 2, bern: 2 }, 4),
      ).map(({ cell }) => cell),
      ['no › rome', 'no › bern'],
    );
    assert.deepEqual(
      cross('Seen', 'Town', reply(right, { yes: 2, no: 3 }, { rome: 2, bern: 2 }, 5)).map(({ cell }) => cell),
      ['no', 'answered both'],
    );
  });

  it('counts options that are called as what every object of JavaScript has', () => {
    const trades = tableOf([
      ['Trade', 'Satisfied?'],
      ['Constructor', 'Yes'],
      ['Plumber', 'No'],
      ['Constructor', 'Yes'],
      ['Constructor', 'No'],
      ['Plumber', 'Yes'],
      ['Constructor', 'No'],
    ]);
    const asked = importedAs(detect(trades).questions);
    const [trade, satisfied] = [
      findVariable(
        asked.map(({ found }) => found),
        'Trade',
      ),
      findVariable(
        asked.map(({ found }) => found),
        'Satisfied?',
      ),
    ];
    const cells = { constructor: { yes: 2, no: 2 }, plumber: { yes: 1, no: 1 } };
    for (const variables of [
      [trade, satisfied],
      [satisfied, trade],
    ] as const) {
      const isDown = variables[0] === trade;
      const shown = isDown
        ? reply(cells, { constructor: 4, plumber: 2 }, { yes: 3, no: 3 }, 6)
        : reply(
            { yes: { constructor: 2, plumber: 1 }, no: { constructor: 2, plumber: 1 } },
            { yes: 3, no: 3 },
            { constructor: 4, plumber: 2 },
            6,
          );
      assert.deepEqual(
        compareCrosstab({ questions: asked, rows: trades.rows, variables, reply: shown }).differences,
        [],
      );
    }
  });
});
