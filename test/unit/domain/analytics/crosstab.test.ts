import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interpretCrosstab } from '../../../support/crosstab.ts';
import { categories, isNear, source } from '../../../support/crosstabs.ts';

describe('a crosstab', () => {
  it('gives percentages of its rows, its columns and the whole', () => {
    const table = interpretCrosstab({
      rows: { categories: categories('a', 'b'), source },
      columns: { categories: categories('x', 'y'), source },
      cells: [
        { row: 1, column: 1, count: 1 },
        { row: 1, column: 2, count: 3 },
        { row: 2, column: 1, count: 4 },
      ],
      rowTotals: new Map([
        [1, 4],
        [2, 4],
      ]),
      columnTotals: new Map([
        [1, 5],
        [2, 3],
      ]),
      total: 8,
    });
    assert.deepEqual(table.rows, [
      { value: 'a', text: 'A', total: 4, weightedTotal: 4, effectiveBase: 4 },
      { value: 'b', text: 'B', total: 4, weightedTotal: 4, effectiveBase: 4 },
    ]);
    assert.deepEqual(table.cells[0]?.[1], {
      count: 3,
      weightedCount: 3,
      rowPercent: 75,
      columnPercent: 100,
      totalPercent: 37.5,
      significantOver: [],
    });
    assert.deepEqual(table.cells[1]?.[1], {
      count: 0,
      weightedCount: 0,
      rowPercent: 0,
      columnPercent: 0,
      totalPercent: 0,
      significantOver: [],
    });
  });

  it('counts respondents where a question takes several answers', () => {
    const table = interpretCrosstab({
      rows: { categories: categories('a', 'b'), source: { kind: 'bits', slots: [0] } },
      columns: { categories: categories('x'), source },
      cells: [
        { row: 1, column: 1, count: 3 },
        { row: 2, column: 1, count: 2 },
      ],
      rowTotals: new Map([
        [1, 3],
        [2, 2],
      ]),
      columnTotals: new Map([[1, 4]]),
      total: 4,
    });
    assert.deepEqual([table.total, table.cells.map(([cell]) => cell?.columnPercent)], [4, [75, 50]]);
    assert.deepEqual([table.chiSquare.statistic, table.chiSquare.pValue, table.cramersV], [null, null, null]);
  });

  it('without responses has every row and column, and no test', () => {
    const table = interpretCrosstab({
      rows: { categories: categories('a'), source },
      columns: { categories: categories('x', 'y'), source },
      cells: [],
      rowTotals: new Map(),
      columnTotals: new Map(),
      total: 0,
    });
    assert.deepEqual(
      table.cells.map((line) =>
        line.map(({ count, rowPercent, columnPercent, totalPercent }) => [
          count,
          rowPercent,
          columnPercent,
          totalPercent,
        ]),
      ),
      [
        [
          [0, 0, 0, 0],
          [0, 0, 0, 0],
        ],
      ],
    );
    assert.equal(table.chiSquare.statistic, null);
  });

  it('names the columns that a percentage exceeds, over the respondents of each column', () => {
    const counts = [
      [18, 2, 5],
      [3, 17, 5],
    ];
    const given = {
      rows: { categories: categories('a', 'b'), source },
      columns: { categories: categories('x', 'y', 'z'), source },
      cells: counts.flatMap((line, r) => line.map((count, c) => ({ row: r + 1, column: c + 1, count }))),
      rowTotals: new Map([
        [1, 25],
        [2, 25],
      ]),
      columnTotals: new Map([
        [1, 21],
        [2, 19],
        [3, 10],
      ]),
      total: 50,
    };
    const over = (...asked: [{ significance?: number; correction?: 'bonferroni' | 'fdr' }?]) =>
      interpretCrosstab(given, ...asked).cells.map((line) => line.map(({ significantOver }) => significantOver));
    assert.deepEqual(over(), [
      [['y'], [], ['y']],
      [[], ['x', 'z'], []],
    ]);
    assert.deepEqual(over({ significance: 0.99 }), [
      [['y'], [], []],
      [[], ['x'], []],
    ]);
    // p = 2.0e-6, 0.074 and 0.030. Times three 6.1e-6, 0.223 and 0.091; by Benjamini and Hochberg 6.1e-6, 0.074 and
    // 0.045.
    assert.deepEqual(over({ correction: 'bonferroni' }), [
      [['y'], [], []],
      [[], ['x'], []],
    ]);
    assert.deepEqual(over({ correction: 'fdr' }), over());
  });

  it('with weights shows their sums beside the counts, and compares columns by effective bases', () => {
    // Weights by cell: a×x 1, 2; b×x 1; a×y 1, 1; b×y 2, 2, 2.
    const weighted = (significance?: number) =>
      interpretCrosstab(
        {
          rows: { categories: categories('a', 'b'), source },
          columns: { categories: categories('x', 'y'), source },
          cells: [
            { row: 1, column: 1, count: 2 },
            { row: 2, column: 1, count: 1 },
            { row: 1, column: 2, count: 2 },
            { row: 2, column: 2, count: 3 },
          ],
          rowTotals: new Map([
            [1, 4],
            [2, 4],
          ]),
          columnTotals: new Map([
            [1, 3],
            [2, 5],
          ]),
          total: 8,
          weighted: {
            cells: [
              { row: 1, column: 1, weight: 3, squares: 5 },
              { row: 2, column: 1, weight: 1, squares: 1 },
              { row: 1, column: 2, weight: 2, squares: 2 },
              { row: 2, column: 2, weight: 6, squares: 12 },
            ],
            rowTotals: new Map([
              [1, { weight: 5, squares: 7 }],
              [2, { weight: 7, squares: 13 }],
            ]),
            columnTotals: new Map([
              [1, { weight: 4, squares: 6 }],
              [2, { weight: 8, squares: 14 }],
            ]),
            total: { weight: 12, squares: 20 },
            unweightable: 4,
          },
        },
        { significance },
      );
    const table = weighted();
    assert.deepEqual(table.cells[0]?.[0], {
      count: 2,
      weightedCount: 3,
      rowPercent: 60,
      columnPercent: 75,
      totalPercent: 25,
      significantOver: [],
    });
    assert.deepEqual(table.columns, [
      { value: 'x', text: 'X', total: 3, weightedTotal: 4, effectiveBase: 16 / 6 },
      { value: 'y', text: 'Y', total: 5, weightedTotal: 8, effectiveBase: 64 / 14 },
    ]);
    assert.deepEqual([table.total, table.weightedTotal, table.effectiveBase, table.unweightable], [8, 12, 144 / 20, 4]);
    // (3·6 − 2·1)² · 12 / (5·7·4·8)
    isNear(table.uncorrectedChiSquare?.statistic ?? null, (16 ** 2 * 12) / (5 * 7 * 4 * 8), 1e-12);
    isNear(table.cramersV, Math.sqrt(16 ** 2 / (5 * 7 * 4 * 8)), 1e-12);
    assert.equal(table.chiSquare.correction, 'rao-scott');
    // 75 % of 2.67 against 25 % of 4.57 are, rounded, 2 of 3 against 1 of 5: Fisher's p is 0.464; the z-test's would be
    // 0.190.
    assert.deepEqual(weighted(0.53).cells[0]?.[0]?.significantOver, ['y']);
    assert.deepEqual(weighted(0.54).cells[0]?.[0]?.significantOver, []);
  });

  it('with weights and several answers scales chi-square by the effective base', () => {
    const sums = [60, 40, 40, 60].map((weight) => ({ weight, squares: 2 * weight }));
    const table = interpretCrosstab({
      rows: { categories: categories('a', 'b'), source: { kind: 'bits', slots: [0] } },
      columns: { categories: categories('x', 'y'), source },
      cells: [1, 1, 2, 2].map((row, index) => ({ row, column: (index % 2) + 1, count: 30 })),
      rowTotals: new Map([1, 2].map((code) => [code, 60])),
      columnTotals: new Map([1, 2].map((code) => [code, 60])),
      total: 90,
      weighted: {
        cells: sums.map((sum, index) => ({ row: index < 2 ? 1 : 2, column: (index % 2) + 1, ...sum })),
        rowTotals: new Map([1, 2].map((code) => [code, { weight: 100, squares: 200 }])),
        columnTotals: new Map([1, 2].map((code) => [code, { weight: 100, squares: 200 }])),
        total: { weight: 150, squares: 300 },
        unweightable: 0,
      },
    });
    // Pearson's is 8; 75 effective respondents made mentions that weigh 200.
    isNear(table.uncorrectedChiSquare?.statistic ?? null, 8, 1e-12);
    isNear(table.chiSquare.statistic, (8 * 75) / 150, 1e-12);
    assert.equal(table.chiSquare.correction, 'effective-base');
  });

  it('compares columns with several answers without those who are in both', () => {
    const over = (count: number) =>
      interpretCrosstab({
        rows: { categories: categories('a', 'b'), source },
        columns: { categories: categories('x', 'y'), source: { kind: 'bits', slots: [0] } },
        cells: [60, 50, 40, 50].map((cell, index) => ({
          row: index < 2 ? 1 : 2,
          column: (index % 2) + 1,
          count: cell,
        })),
        rowTotals: new Map([
          [1, 80],
          [2, 70],
        ]),
        columnTotals: new Map([1, 2].map((code) => [code, 100])),
        total: 150,
        columnOverlaps: [{ one: 1, other: 2, count }],
      }).cells[0]?.[0]?.significantOver;
    assert.deepEqual([over(0), over(50)], [[], ['y']]);
  });

  it('finds that the light rest of a column differs from a heavy column within it', () => {
    // 1000 of weight 10 in both columns, 60 % of them in the row, and 1000 of weight 1 in y only.
    const over = (inRest: number) => {
      const inRow = [
        { row: 1, column: 1, count: 600, weight: 6000, squares: 60_000 },
        { row: 1, column: 2, count: 600 + inRest, weight: 6000 + inRest, squares: 60_000 + inRest },
      ];
      const [x, y] = [
        { count: 1000, weight: 10_000, squares: 100_000 },
        { count: 2000, weight: 11_000, squares: 101_000 },
      ];
      return interpretCrosstab({
        rows: { categories: categories('a'), source },
        columns: { categories: categories('x', 'y'), source: { kind: 'bits', slots: [0] } },
        cells: inRow,
        rowTotals: new Map([[1, 600 + inRest]]),
        columnTotals: new Map([
          [1, x.count],
          [2, y.count],
        ]),
        total: 2000,
        columnOverlaps: [{ one: 1, other: 2, count: 1000 }],
        weighted: {
          cells: inRow,
          rowTotals: new Map([[1, { weight: 6000 + inRest, squares: 60_000 + inRest }]]),
          columnTotals: new Map([
            [1, x],
            [2, y],
          ]),
          total: y,
          columnOverlaps: [{ one: 1, other: 2, weight: 10_000, squares: 100_000 }],
          unweightable: 0,
        },
      }).cells[0]?.map(({ significantOver }) => significantOver);
    };
    // z = (0.6 − 0.3) / √(0.585 · 0.415 · (1/1000 + 1/1000)) = 13.6, and 1.37 for 57 %.
    assert.deepEqual(over(300), [['y'], []]);
    assert.deepEqual(over(570), [[], []]);
  });

  it('without weights does not mention unweightable responses', () => {
    assert.ok(
      !(
        'unweightable' in
        interpretCrosstab({
          rows: { categories: categories('a'), source },
          columns: { categories: categories('x'), source },
          cells: [],
          rowTotals: new Map(),
          columnTotals: new Map(),
          total: 0,
        })
      ),
    );
  });

  it('shows a deleted option only where somebody chose it', () => {
    const [kept, gone] = categories('kept', 'gone');
    assert.ok(kept && gone);
    const rows = { categories: [kept, { ...gone, isHidden: true }], source };
    const count = (total: number) =>
      interpretCrosstab({
        rows,
        columns: { categories: [kept], source },
        cells: [],
        rowTotals: new Map([[2, total]]),
        columnTotals: new Map(),
        total,
      }).rows.length;
    assert.deepEqual([count(0), count(3)], [1, 2]);
  });
});
