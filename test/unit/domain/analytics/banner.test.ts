import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refuseTooLarge } from '../../../../src/domain/analytics/crosstab.ts';
import { interpretCrosstab, interpretTables } from '../../../support/crosstab.ts';
import { source } from '../../../support/crosstabs.ts';

describe('a banner', () => {
  const head = (value: string, code: number, isHidden = false) => ({ code, value, text: value, isHidden });
  const table = (columns: string[], cells: [row: number, column: number, count: number][]) => {
    const sums = (place: 0 | 1) =>
      cells.reduce(
        (totals, cell) => totals.set(cell[place], (totals.get(cell[place]) ?? 0) + cell[2]),
        new Map<number, number>(),
      );
    return {
      columns: { categories: columns.map((value, index) => head(value, index + 1)), source },
      cells: cells.map(([row, column, count]) => ({ row, column, count })),
      rowTotals: sums(0),
      columnTotals: sums(1),
      total: cells.reduce((sum, [, , count]) => sum + count, 0),
    };
  };

  it('is the tables side by side, each over its own respondents', () => {
    const rows = { categories: [head('a', 1), head('b', 2)], source };
    const [one, other] = [
      table(
        ['x', 'y'],
        [
          [1, 1, 30],
          [2, 1, 10],
          [1, 2, 10],
          [2, 2, 30],
        ],
      ),
      table(
        ['z'],
        [
          [1, 1, 3],
          [2, 1, 1],
        ],
      ),
    ];
    assert.deepEqual(interpretTables(rows, [one, other]), [
      interpretCrosstab({ rows, ...one }),
      interpretCrosstab({ rows, ...other }),
    ]);
    assert.deepEqual(
      interpretTables(rows, [one, other]).map(({ total, cells }) => [total, cells[0]?.[0]?.rowPercent]),
      [
        [80, 75],
        [4, 100],
      ],
    );
  });

  it('has the same rows in each table, those of deleted options too', () => {
    const rows = { categories: [head('a', 1), head('gone', 2, true), head('never', 3, true)], source };
    const tables = interpretTables(rows, [
      table(['x'], [[1, 1, 2]]),
      table(
        ['y'],
        [
          [1, 1, 1],
          [2, 1, 1],
        ],
      ),
    ]);
    assert.deepEqual(
      tables.map((shown) => shown.rows.map(({ value, total }) => [value, total])),
      [
        [
          ['a', 2],
          ['gone', 0],
        ],
        [
          ['a', 1],
          ['gone', 1],
        ],
      ],
    );
  });

  it('is limited in size as one table is', () => {
    const scale = { categories: Array.from({ length: 500 }, (_, index) => head(String(index), index + 1)), source };
    const wide = { ...table([], []), columns: scale };
    const columns = (count: number) => ({ ...scale, categories: scale.categories.slice(0, count) });
    assert.equal(
      interpretTables(scale, [
        { ...wide, columns: columns(4) },
        { ...wide, columns: columns(3) },
      ])[1]?.cells.length,
      500,
    );
    assert.doesNotThrow(() => refuseTooLarge(scale, [columns(99), columns(1)]));
    assert.throws(() => interpretTables(scale, [wide, wide]), {
      code: 'VALIDATION_ERROR',
      details: [
        { path: 'banner', message: 'there would be 500 rows and 1000 columns; a table can have 50000 cells at most' },
      ],
    });
  });
});
