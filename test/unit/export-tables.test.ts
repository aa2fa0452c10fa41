import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CountResult } from '../../src/domain/questions/contract.ts';
import { interpretQuestion } from '../../src/domain/statistics.ts';
import { tableOf } from '../../src/pipelines/exports/tables.ts';
import { blankSurvey, withQuestion } from '../support/questions.ts';

const rows = [{ text: 'Food', value: 'food' }, { text: 'Service', value: 'service' }];

/** A grid that ten people answered. */
function grid(columns: readonly string[], results: CountResult[], settings: Record<string, unknown> = {}) {
  const { question } = withQuestion(blankSurvey(), { type: 'MATRIX', text: 'How is each?', options: columns.map((text) => ({ text })), settings: { rows, ...settings } });
  return tableOf({ question, statistic: interpretQuestion(question, results, 10, 12) });
}
const codes = (...counts: number[]): CountResult => ({ kind: 'codes', counts: new Map(counts.map((count, index) => [index + 1, count])) });
const bits = (...counts: number[]): CountResult => ({ kind: 'bits', counts });
const percentsOf = ({ lines }: ReturnType<typeof tableOf>) => lines.map(({ cells }) => cells.map(({ percent }) => percent));

describe('the printed table of a MATRIX', () => {
  it('has shares of those who answered the row where a row takes one answer', () => {
    const table = grid(['Good', 'Bad'], [codes(6, 4), codes(1, 3)]);
    assert.deepEqual(percentsOf(table), [[60, 40], [25, 75]]);
    assert.equal(table.chart, 'lines');
  });

  it('has percentages of respondents where several may be chosen, as CHECKBOXES have, and no chart of shares', () => {
    const table = grid(['Fast', 'Cheap'], [bits(10, 5), bits(0, 2)], { multiple: true });
    assert.deepEqual(percentsOf(table), [[100, 50], [0, 20]]);
    assert.equal(table.chart, 'bars');
  });

  it('has means of columns that are numbered, and of no others', () => {
    assert.deepEqual(grid(['1', '2', '3'], [codes(5, 0, 5), codes(0, 0, 4)]).figures, [{ name: 'Mean', of: 'Food', value: '2' }, { name: 'Mean', of: 'Service', value: '3' }]);
    assert.deepEqual(grid(['Good', 'Bad'], [codes(6, 4), codes(1, 3)]).figures, []);
    assert.deepEqual(grid(['0', '1', '2'], [codes(5, 0, 5), codes(0, 0, 4)]).figures, []);
    assert.deepEqual(grid(['1', '2'], [bits(10, 5), bits(0, 2)], { multiple: true }).figures, []);
  });
});
