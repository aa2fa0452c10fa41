import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refuseTooLarge } from '../../../../src/domain/analytics/crosstab.ts';
import { sumsOf } from '../../../../src/domain/analytics/crosstab-counts.ts';
import { interpretCrosstab } from '../../../support/crosstab.ts';
import { categories, source } from '../../../support/crosstabs.ts';

describe('a crosstab', () => {
  it('with too many pairs of columns has no comparisons, and is refused if they are requested', () => {
    const wide = { categories: categories(...Array.from({ length: 1500 }, (_, index) => `c${index}`)), source };
    const given = {
      rows: { categories: categories('a'), source },
      columns: wide,
      cells: [{ row: 1, column: 1, count: 50 }],
      rowTotals: new Map([[1, 50]]),
      columnTotals: new Map(wide.categories.map(({ code }) => [code, 50])),
      total: 50,
    };
    assert.deepEqual(interpretCrosstab(given).cells[0]?.[0]?.significantOver, []);
    assert.equal(interpretCrosstab(given).isCompared, false);
    assert.throws(() => interpretCrosstab(given, { correction: 'fdr' }), {
      code: 'VALIDATION_ERROR',
      details: [
        { path: 'correction', message: 'the columns would take 1124250 comparisons; there can be 1000000 at most' },
      ],
    });
    const few = {
      ...given,
      columnTotals: new Map([
        [1, 50],
        [2, 50],
      ]),
    };
    assert.deepEqual(interpretCrosstab(few).cells[0]?.[0]?.significantOver, ['c1']);
    assert.equal(interpretCrosstab(few).isCompared, true);
  });

  it('whose comparisons would fill a reply with long names has none, and is refused if they are requested', () => {
    const wide = (length: number) => ({
      categories: categories(...Array.from({ length: 200 }, (_, index) => String(index).padStart(length, 'x'))),
      source,
    });
    const given = (length: number) => ({
      rows: { categories: categories('a'), source },
      columns: wide(length),
      cells: [{ row: 1, column: 1, count: 50 }],
      rowTotals: new Map([[1, 50]]),
      columnTotals: new Map(wide(length).categories.map(({ code }) => [code, 50])),
      total: 50,
    });
    assert.deepEqual(interpretCrosstab(given(400)).cells[0]?.[0]?.significantOver, []);
    assert.throws(() => interpretCrosstab(given(400), { significance: 0.9 }), {
      code: 'VALIDATION_ERROR',
      details: [
        {
          path: 'significance',
          message: 'the names of the columns could take 7960000 characters; there can be 6000000 at most',
        },
      ],
    });
    assert.equal(interpretCrosstab(given(4)).cells[0]?.[0]?.significantOver.length, 199);
  });

  it('gives way while the weights of its cells are looked up', () => {
    const side = Array.from({ length: 60 }, (_, index) => index + 1);
    const totals = new Map(side.map((code) => [code, { weight: 1, squares: 1 }]));
    let [read, mostAtOnce] = [0, 0];
    const weighted = {
      cells: side.flatMap((row) =>
        side.map((column) => ({
          get row() {
            read += 1;
            return row;
          },
          column,
          weight: 1,
          squares: 1,
        })),
      ),
      rowTotals: totals,
      columnTotals: totals,
      total: { weight: 1, squares: 1 },
      unweightable: 0,
    };
    const work = sumsOf({ cells: [], rowTotals: new Map(), columnTotals: new Map(), total: 0, weighted });
    for (let last = 0; !work.next().done; last = read) mostAtOnce = Math.max(mostAtOnce, read - last);
    assert.equal(read, weighted.cells.length);
    assert.ok(mostAtOnce <= 1000, `${mostAtOnce} cells at once`);
  });

  it('that would not fit into memory is refused', () => {
    const points = {
      categories: Array.from({ length: 10_000 }, (_, index) => ({
        code: index + 1,
        value: String(index),
        text: String(index),
      })),
      source,
    };
    assert.throws(() => refuseTooLarge(points, [points]), {
      code: 'VALIDATION_ERROR',
      details: [
        {
          path: 'questionId2',
          message: 'there would be 10000 rows and 10000 columns; a table can have 50000 cells at most',
        },
      ],
    });
    const hidden = { ...points, categories: points.categories.map((category) => ({ ...category, isHidden: true })) };
    assert.doesNotThrow(() => refuseTooLarge(points, [hidden]));
    assert.throws(
      () =>
        interpretCrosstab({
          rows: points,
          columns: points,
          cells: [],
          rowTotals: new Map(),
          columnTotals: new Map(),
          total: 0,
        }),
      { code: 'VALIDATION_ERROR' },
    );
  });
});
