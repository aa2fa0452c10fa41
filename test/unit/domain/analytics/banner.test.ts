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

  describe('of questions with several answers', () => {
    const rows = { categories: [head('a', 1), head('b', 2), head('c', 3)], source };
    const bits = { kind: 'bits', slots: [1] } as const;
    /** Twenty respondents each in `x` and in `y`, ten of them in both: exact tests find 12 of 20 more than 2 of 20. */
    const overlapping = () => {
      const counted = table(
        ['x', 'y'],
        [
          [1, 1, 12],
          [1, 2, 2],
          [2, 1, 8],
          [2, 2, 10],
          [3, 2, 8],
        ],
      );
      return {
        ...counted,
        columns: { ...counted.columns, source: bits },
        columnOverlaps: [{ one: 1, other: 2, count: 10 }],
      };
    };
    const lettersOf = ({ cells }: ReturnType<typeof interpretCrosstab>) =>
      cells.map((line) => line.map(({ significantOver }) => significantOver.join('')).join('/'));
    const tested = ['y/', '/', '/x'];

    /** The steps that the exact tests of one such table take. */
    const stepsOfOne = () => {
      let [tooFew, enough] = [0, 10_000];
      while (enough - tooFew > 1) {
        const maxExactSteps = Math.floor((tooFew + enough) / 2);
        const { isPartlyCompared } = interpretCrosstab({ rows, ...overlapping() }, { maxExactSteps });
        if (isPartlyCompared) tooFew = maxExactSteps;
        else enough = maxExactSteps;
      }
      return enough;
    };

    it('shares the steps of exact tests evenly between its tables, and says which of them lack tests', () => {
      const steps = stepsOfOne();
      const at = (maxExactSteps: number) => {
        const shown = interpretTables(rows, [overlapping(), overlapping(), overlapping()], { maxExactSteps });
        return { letters: shown.map(lettersOf), cut: shown.map((table) => table.isPartlyCompared ?? false) };
      };
      const none = ['/', '/', '/'];
      assert.deepEqual(at(3 * steps), { letters: [tested, tested, tested], cut: [false, false, false] });
      assert.deepEqual(at(0), { letters: [none, none, none], cut: [true, true, true] });
      // What the first two leave is enough for the last one.
      assert.deepEqual(at(2 * steps).cut, [true, true, false]);
    });

    it('has the letters of a table wherever it stands beside a larger one', () => {
      const small = overlapping();
      const large = { ...small, columns: { ...small.columns, categories: [...small.columns.categories] } };
      for (let code = 3; code < 12; code += 1) {
        large.columns.categories.push(head(`more ${code}`, code));
        large.columnTotals = new Map([...large.columnTotals, [code, 20]]);
        large.cells = [...large.cells, { row: 1, column: code, count: 12 }, { row: 2, column: code, count: 8 }];
        large.columnOverlaps = [...large.columnOverlaps, { one: 1, other: code, count: 10 }];
      }
      const maxExactSteps = 2 * stepsOfOne();
      for (const tables of [
        [small, large],
        [large, small],
      ]) {
        const shown = interpretTables(rows, tables, { maxExactSteps });
        assert.deepEqual(lettersOf(shown[tables.indexOf(small)] as (typeof shown)[number]), tested);
        assert.deepEqual(
          shown.map(({ isPartlyCompared }) => isPartlyCompared ?? false),
          tables.map((table) => table === large),
        );
      }
    });

    it('has steps for all exact tests of ordinary tables', () => {
      const tables = Array.from({ length: 21 }, overlapping);
      assert.ok(interpretTables(rows, tables).every((shown) => lettersOf(shown)[0] === tested[0]));
    });

    it('computes a table once that it holds several times', () => {
      const shared = overlapping();
      const [first, second, third] = interpretTables(rows, [shared, shared, overlapping()]);
      assert.equal(first, second);
      assert.deepEqual(first, third);
      assert.notEqual(first, third);
    });
  });
});
