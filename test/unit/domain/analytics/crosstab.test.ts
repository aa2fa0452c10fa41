import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { associationOf, chiSquareTail, logGamma } from '../../../../src/domain/analytics/chi-square.ts';
import { interpretCrosstab, interpretTables, refuseTooLarge } from '../../../../src/domain/analytics/crosstab.ts';

const isNear = (actual: number | null, expected: number, tolerance = 1e-9) =>
  assert.ok(
    actual !== null && Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)),
    `${actual} is not ${expected}`,
  );

describe('the chi-square distribution', () => {
  it('agrees with closed forms: exp(−x/2) for two degrees, a finite sum for every even number', () => {
    for (const x of [1e-6, 0.1, 1, 2, 5.991464547107979, 20, 100, 700]) {
      isNear(chiSquareTail(x, 2), Math.exp(-x / 2), 1e-12);
      for (const half of [2, 3, 5, 10, 40]) {
        let [term, sum] = [1, 1];
        for (let k = 1; k < half; k += 1) {
          term *= x / 2 / k;
          sum += term;
        }
        isNear(chiSquareTail(x, 2 * half), Math.exp(-x / 2) * sum, 1e-10);
      }
    }
  });

  it('agrees with printed critical values for odd degrees', () => {
    // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4, with more digits.
    isNear(chiSquareTail(3.841458820694124, 1), 0.05);
    isNear(chiSquareTail(6.634896601021213, 1), 0.01);
    isNear(chiSquareTail(7.814727903251179, 3), 0.05);
    isNear(chiSquareTail(15.086272469388987, 5), 0.01);
  });

  it('agrees with the incomplete gamma function at 50 digits, in the tails too', () => {
    // Q(df/2, x/2), computed once with mpmath 1.3 (gammainc, regularized) at 50 digits, rounded to doubles.
    const values: [x: number, degreesOfFreedom: number, p: number][] = [
      [0.001, 1, 0.9747728793699604],
      [0.5, 1, 0.4795001221869535],
      [3.84, 1, 0.050043521248705106],
      [10, 1, 0.0015654022580025497],
      [50, 1, 1.537459794428035e-12],
      [300, 1, 3.294362383314041e-67],
      [1e-8, 3, 0.999999999999734],
      [2.5, 3, 0.4752910833430206],
      [30, 3, 1.3800570312932547e-6],
      [7.7, 5, 0.17356267022817298],
      [12.3, 7, 0.09111488600031303],
      [100, 99, 0.45295851132093135],
      [150, 99, 0.0007204453957169629],
      [60, 99, 0.9993199970498485],
      [1000, 999, 0.48513148927490146],
      [1100, 999, 0.013818467525532355],
      [5000, 4801, 0.022204775627841476],
      [39601, 39601, 0.4990549585564016],
      [40200, 39601, 0.016996483677183687],
    ];
    for (const [x, degreesOfFreedom, p] of values)
      assert.ok(Math.abs(chiSquareTail(x, degreesOfFreedom) / p - 1) < 1e-10, `${x} with ${degreesOfFreedom}`);
    assert.deepEqual([chiSquareTail(0, 3), chiSquareTail(Number.POSITIVE_INFINITY, 3)], [1, 0]);
  });

  it('uses a gamma function that agrees with known values', () => {
    isNear(logGamma(0.5), Math.log(Math.sqrt(Math.PI)), 1e-13);
    isNear(logGamma(11), Math.log(3_628_800), 1e-13);
  });
});

describe('association', () => {
  it('is computed without Yates’ correction', () => {
    // (30·60 − 10·20)² · 120 / (40·80·50·70)
    const { chiSquare, cramersV } = associationOf([
      [30, 10],
      [20, 60],
    ]);
    isNear(chiSquare.statistic, ((30 * 60 - 10 * 20) ** 2 * 120) / (40 * 80 * 50 * 70), 1e-12);
    assert.equal(chiSquare.degreesOfFreedom, 1);
    isNear(cramersV, Math.sqrt((chiSquare.statistic ?? 0) / 120), 1e-12);
  });

  it('of equal weights is Pearson’s, whatever their size', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.nat(50), { minLength: 3, maxLength: 3 }), { minLength: 2, maxLength: 4 }),
        fc.double({ min: 0.01, max: 100, noNaN: true }),
        (table, weight) => {
          const { chiSquare, cramersV } = associationOf(table);
          const scaled = (factor: number) => table.map((line) => line.map((count) => count * factor));
          const weighted = associationOf(scaled(weight), { squares: scaled(weight ** 2) });
          if (chiSquare.statistic === null || chiSquare.pValue === null || cramersV === null)
            return assert.equal(weighted.chiSquare.pValue, null);
          isNear(weighted.chiSquare.statistic, chiSquare.statistic);
          isNear(weighted.chiSquare.pValue, chiSquare.pValue);
          isNear(weighted.cramersV, cramersV);
          isNear(weighted.uncorrectedChiSquare?.statistic ?? null, chiSquare.statistic * weight);
        },
      ),
    );
  });

  it('of weights is corrected by the design effects of Rao and Scott, as matrices give them', () => {
    // Respondents by cell: a×x 1, 2, 4; a×y 1, 1; a×z 3; b×x 1; b×y 2, 2, 2, 1; b×z 1, 5.
    const weights = [
      [[1, 2, 4], [1, 1], [3]],
      [[1], [2, 2, 2, 1], [1, 5]],
    ];
    const sums = (power: number) =>
      weights.map((line) => line.map((cell) => cell.reduce((sum, weight) => sum + weight ** power, 0)));
    const { chiSquare } = associationOf(sums(1), { squares: sums(2) });
    // NumPy 2.4.6: Δ from Kronecker products of D⁻¹ − 11' of rows and columns, its trace and that of its square.
    isNear(chiSquare.statistic, 2.9630902160508166);
    isNear(chiSquare.effectiveDegreesOfFreedom ?? null, 1.909935075396067);
    isNear(chiSquare.pValue, 0.2278442020004247);
  });

  it('is computed without empty rows and columns, and has no test below two by two', () => {
    assert.deepEqual(
      associationOf([
        [30, 0, 10],
        [0, 0, 0],
        [20, 0, 60],
      ]),
      associationOf([
        [30, 10],
        [20, 60],
      ]),
    );
    assert.deepEqual(
      associationOf([
        [5, 0],
        [7, 0],
      ]),
      { chiSquare: { statistic: null, degreesOfFreedom: 0, pValue: null }, cramersV: null },
    );
    assert.deepEqual(associationOf([]), {
      chiSquare: { statistic: null, degreesOfFreedom: 0, pValue: null },
      cramersV: null,
    });
  });

  it('lies between independence and identity for every table', () => {
    fc.assert(
      fc.property(
        fc
          .integer({ min: 2, max: 5 })
          .chain((columns) =>
            fc.array(fc.array(fc.nat(50), { minLength: columns, maxLength: columns }), { minLength: 2, maxLength: 5 }),
          ),
        (table) => {
          const { chiSquare, cramersV } = associationOf(table);
          if (chiSquare.statistic === null || cramersV === null || chiSquare.pValue === null) return;
          assert.ok(
            chiSquare.statistic >= -1e-9 &&
              cramersV >= -1e-9 &&
              cramersV <= 1 + 1e-9 &&
              chiSquare.pValue >= -1e-12 &&
              chiSquare.pValue <= 1 + 1e-12,
          );
        },
      ),
    );
  });
});

describe('a crosstab', () => {
  const categories = (...values: string[]) =>
    values.map((value, index) => ({ code: index + 1, value, text: value.toUpperCase() }));
  const source = { kind: 'code', slot: 0 } as const;

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

describe('a banner', () => {
  const head = (value: string, code: number, isHidden = false) => ({ code, value, text: value, isHidden });
  const source = { kind: 'code', slot: 0 } as const;
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
