import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nobody, type Sum } from '../../../../src/domain/analytics/crosstab-counts.ts';
import { fisherTest, overlapTest, type StepBudget } from '../../../../src/domain/analytics/exact-tests.ts';
import {
  type Comparison,
  compareColumns,
  comparisonsIn,
  maxExactSteps,
  without,
} from '../../../../src/domain/analytics/significance.ts';
import { runAtOnce } from '../../../../src/platform/slices.ts';
import { associationOf } from '../../../support/crosstabs.ts';
import { both, plain, weighted } from '../../../support/respondent-sums.ts';

const letters = 'abcdefgh';

/** For each row the pairs "greater>smaller" that are significant, from counts and bases by column. */
function significant(
  rows: readonly (readonly number[])[],
  bases: readonly number[],
  comparison: Comparison = { level: 0.95 },
  sharedBase?: (one: number, other: number) => number,
  budget?: StepBudget,
): string[][] {
  const columns = bases.map((base, c) => ({
    value: letters[c] ?? '',
    ...plain(base),
    shares: rows.map((row) => (base === 0 ? 0 : (row[c] ?? 0) / base)),
  }));
  const sharedBy = sharedBase && ((one: number, other: number) => plain(sharedBase(one, other)));
  return runAtOnce(compareColumns(columns, rows.length, comparison, sharedBy, budget)).map((line) =>
    line.flatMap((over, c) => over.map((value) => `${letters[c]}>${value}`)),
  );
}

describe('comparing column percentages', () => {
  it('names the smaller columns of a row: 18 of 21 against 2 of 19 and 5 of 10', () => {
    // z = 4.7494 (a, b), p = 2.0e-6; Fisher's exact test of the others, as 3.2 and 2.4 would be expected: p = 0.0742
    // and 0.0302 (scipy.stats.fisher_exact, SciPy 1.17.1).
    const rows = [[18, 2, 5]];
    assert.deepEqual(significant(rows, [21, 19, 10]), [['a>b', 'c>b']]);
    assert.deepEqual(significant(rows, [21, 19, 10], { level: 0.92 }), [['a>b', 'a>c', 'c>b']]);
    assert.deepEqual(significant(rows, [21, 19, 10], { level: 0.98 }), [['a>b']]);
    assert.deepEqual(significant(rows, [21, 19, 10], { level: 0.99 }), [['a>b']]);
    assert.deepEqual(significant(rows, [21, 19, 10], { level: 0.999999 }), [[]]);
  });

  it('agrees with the smokers of Fleiss (1981, p. 139) with and without corrections', () => {
    // 83 of 86, 90 of 93, 129 of 136, 70 of 82. Plain p of the last against the others: 0.01133, 0.00714, 0.01614;
    // times six 0.0680, 0.0428, 0.0969; by Benjamini and Hochberg 0.03229 each. All others are above 0.48.
    const [rows, bases] = [[[83, 90, 129, 70]], [86, 93, 136, 82]];
    assert.deepEqual(significant(rows, bases), [['a>d', 'b>d', 'c>d']]);
    assert.deepEqual(significant(rows, bases, { level: 0.95, correction: 'bonferroni' }), [['b>d']]);
    assert.deepEqual(significant(rows, bases, { level: 0.95, correction: 'fdr' }), [['a>d', 'b>d', 'c>d']]);
    assert.deepEqual(significant(rows, bases, { level: 0.967, correction: 'fdr' }), [['a>d', 'b>d', 'c>d']]);
    assert.deepEqual(significant(rows, bases, { level: 0.968, correction: 'fdr' }), [[]]);
  });

  it('corrects over the pairs of a row whose exact tests are left out for lack of steps, too', () => {
    // a against b as the first and last smokers below, p = 0.01133. Exact tests of c, which shares respondents with
    // both, find nothing.
    const cut = (correction?: Comparison['correction']) => {
      const budget = { left: 0, isCut: false };
      const shared = (one: number, other: number) => (one === 2 || other === 2 ? 4 : 0);
      const found = significant([[83, 70, 9]], [86, 82, 10], { level: 0.98, correction }, shared, budget);
      assert.deepEqual(budget, { left: 0, isCut: true });
      return found;
    };
    assert.deepEqual(cut(), [['a>b']]);
    assert.deepEqual(cut('bonferroni'), [[]]);
    assert.deepEqual(cut('fdr'), [[]]);
  });

  it('has the steps of all exact tests of the largest table that has them', () => {
    const columns = Array.from({ length: 40 }, (_, c) => ({
      value: `v${c}`,
      ...plain(60),
      shares: Array.from({ length: 25 }, (_, row) => (6 + ((row * c) % 4)) / 60),
    }));
    const budget = { left: maxExactSteps, isCut: false };
    runAtOnce(compareColumns(columns, 25, { level: 0.95 }, () => plain(30), budget));
    assert.equal(budget.isCut, false);
    assert.ok(maxExactSteps - budget.left > 20_000_000, `${maxExactSteps - budget.left}`);
  });

  it('corrects over the testable pairs of a row', () => {
    // b against d as above, p = 0.00714: times three 0.0214, times six 0.0428.
    const at = (level: number, bases: number[], rows: number[]) =>
      significant([rows], bases, { level, correction: 'bonferroni' });
    assert.deepEqual(at(0.97, [93, 82, 136], [90, 70, 129]), [['a>b']]);
    assert.deepEqual(at(0.97, [93, 82, 136, 86], [90, 70, 129, 83]), [[]]);
    assert.deepEqual(at(0.97, [93, 82, 136, 0], [90, 70, 129, 0]), [['a>b']]);
  });

  it('does not compare two columns with nobody or with everybody in the row, but compares nobody with everybody', () => {
    assert.deepEqual(
      significant(
        [
          [0, 0],
          [50, 50],
        ],
        [50, 50],
      ),
      [[], []],
    );
    assert.deepEqual(
      significant(
        [
          [0, 50],
          [50, 0],
        ],
        [50, 50],
      ),
      [['b>a'], ['a>b']],
    );
    // p = 0.1 for three respondents each, 0.029 for four each.
    assert.deepEqual(significant([[0, 1]], [1, 1]), [[]]);
    assert.deepEqual(significant([[0, 3]], [3, 3]), [[]]);
    assert.deepEqual(significant([[0, 4]], [4, 4]), [['b>a']]);
  });

  it('uses Fisher’s exact test where few respondents are expected', () => {
    // By the z-test p = 0.0285 and 0.0032.
    assert.deepEqual(significant([[1, 4]], [4, 4]), [[]]);
    assert.deepEqual(significant([[1, 5]], [1, 50]), [[]]);
    // Effective counts are rounded: 2.3 of 4.2 against 0.2 of 3.8 are 2 of 4 against 0 of 4.
    assert.deepEqual(significant([[2.3, 0.2]], [4.2, 3.8], { level: 0.5 }), [['a>b']]);
    assert.deepEqual(significant([[2.3, 0.2]], [4.2, 3.8], { level: 0.6 }), [[]]);
  });

  it('tests the share of the rounded effective base, not counts that are rounded on their own', () => {
    // Weights 2, 2, 1, 1 in the row and 2, 1 outside of it, against 2, 2, 1, 1 outside: 3 of 5 against 0 of 4, p = 1/6.
    const [bases, shares] = [
      [81 / 15, 36 / 10],
      [6 / 9, 0],
    ];
    const row = bases.map((base, c) => base * (shares[c] ?? 0));
    const complement = bases.map((base, c) => base * (1 - (shares[c] ?? 0)));
    const at = (level: number) => significant([row, complement], bases, { level });
    assert.deepEqual(at(0.95), [[], []]);
    assert.deepEqual(
      [at(0.83), at(0.84)],
      [
        [['a>b'], ['b>a']],
        [[], []],
      ],
    );
  });

  it('gives a weighted row and its complement the same p-value', () => {
    const levels = Array.from({ length: 25 }, (_, index) => 0.5 + index / 50);
    const weights = fc.oneof(
      fc.array(fc.constantFrom(0, 1, 2, 3), { maxLength: 12 }),
      fc.array(fc.double({ min: 0.1, max: 10, noNaN: true }), { maxLength: 12 }),
    );
    const group = fc.record({ inside: weights, outside: weights }).map(({ inside, outside }) => ({
      all: weighted(...inside, ...outside),
      inRow: weighted(...inside).weight,
      outside: weighted(...outside).weight,
    }));
    fc.assert(
      fc.property(group, group, fc.option(group), (one, other, shared) => {
        const columns = [one, other].map((only, index) => {
          const parts = shared ? [only, shared] : [only];
          const all = parts.reduce((sum, part) => both(sum, part.all), nobody);
          const shareOf = (weight: (part: typeof only) => number) =>
            all.weight === 0 ? 0 : parts.reduce((sum, part) => sum + weight(part), 0) / all.weight;
          return { value: letters[index] ?? '', ...all, shares: [shareOf((x) => x.inRow), shareOf((x) => x.outside)] };
        });
        for (const level of levels) {
          const rows = runAtOnce(compareColumns(columns, 2, { level }, () => shared?.all ?? nobody));
          const [isFound, isFoundInComplement] = rows.map((line) => line.some((over) => over.length > 0));
          assert.equal(isFound, isFoundInComplement, `at ${level}`);
        }
      }),
    );
  });

  it('computes Fisher’s exact test', () => {
    // scipy.stats.fisher_exact of SciPy 1.17.1, two-sided.
    const values: [[number, number], [number, number], number][] = [
      [[1, 3], [4, 0], 0.14285714285714285],
      [[1, 0], [5, 45], 0.11764705882352941],
      [[0, 10], [6, 4], 0.010835913312693497],
      [[2, 98], [9, 41], 0.0009046868922873036],
      [[0, 4000], [4, 3996], 0.12490624414209085],
      [[3, 1], [1, 3], 0.48571428571428565],
      [[8, 2], [1, 5], 0.034965034965034975],
      [[12, 5], [2, 9], 0.018306636155606404],
      [[0, 3], [0, 8], 1],
    ];
    for (const [one, other, p] of values)
      assert.ok(Math.abs(fisherTest(one, other) / p - 1) < 1e-9, `${one} ${other}: ${fisherTest(one, other)}`);
  });

  it('counts respondents of both columns on neither side', () => {
    // 60 of 100 against 50 of 100 have z = 1.421; with 50 in both columns, who cannot differ, z = 1.421 · √2 = 2.010.
    assert.deepEqual(significant([[60, 50]], [100, 100]), [[]]);
    assert.deepEqual(
      significant([[60, 50]], [100, 100], { level: 0.95 }, () => 50),
      [['a>b']],
    );
    assert.deepEqual(
      significant([[60, 50]], [100, 100], { level: 0.96 }, () => 50),
      [[]],
    );
    // A part against the whole: 60 of 100 within 160 of 400 are as 60 of 100 against 100 of 300, z² = 22.2.
    const of = (level: number) => significant([[60, 160]], [100, 400], { level }, () => 100);
    assert.deepEqual([of(0.999_99), of(0.999_999)], [[['a>b']], [[]]]);
  });

  it('does not test overlapping columns that differ by few respondents, or that are the same', () => {
    assert.deepEqual(
      significant([[60, 50]], [100, 100], { level: 0.95 }, () => 100),
      [[]],
    );
    // Two respondents in each column only: 8 of the row would have to be among them for 10 expected in and outside of
    // it.
    assert.deepEqual(
      significant([[52, 50]], [100, 100], { level: 0.95 }, () => 98),
      [[]],
    );
    assert.deepEqual(
      significant([[4, 0]], [4, 5], { level: 0.95 }, () => 1),
      [[]],
    );
  });

  it('tests overlapping columns exactly where few respondents are expected', () => {
    // Seven of seven against none of seven, one respondent less in both: far apart, whatever that respondent answered.
    assert.deepEqual(
      significant([[8, 1]], [9, 9], { level: 0.95 }, () => 1),
      [['a>b']],
    );
    // Three of three against none of three, and five of the six in both: p = 2 · 6 / C(12, 8) = 0.0242.
    for (const [level, found] of [
      [0.97, [['a>b']]],
      [0.98, [[]]],
    ] as const)
      assert.deepEqual(
        significant([[8, 5]], [9, 9], { level }, () => 6),
        found,
      );
    // A small column within a large one: 6 of 6 within 10 of 40, p = P(all six of the ten) = C(34, 4) / C(40, 10).
    const part = overlapTest({ one: nobody, both: plain(6), other: plain(34) }, 1, 0.25);
    assert.ok(Math.abs((part ?? 0) / (46_376 / 847_660_528) - 1) < 1e-9, String(part));
    assert.deepEqual(
      significant([[6, 10]], [6, 40], { level: 0.95 }, () => 6),
      [['a>b']],
    );
  });

  it('gives way between the exact tests of a row', () => {
    const columns = Array.from({ length: 30 }, (_, c) => ({ value: `${c}`, ...plain(50), shares: [(c % 6) / 50] }));
    let [tested, mostAtOnce] = [0, 0];
    const shared = (): Sum => {
      tested += 1;
      return plain(25);
    };
    const work = compareColumns(columns, 1, { level: 0.95 }, shared);
    for (let last = 0; !work.next().done; last = tested) mostAtOnce = Math.max(mostAtOnce, tested - last);
    assert.equal(tested, comparisonsIn(1, columns.length));
    assert.equal(mostAtOnce, 1);
  });

  it('takes weighted columns apart into those in both and in only one', () => {
    const only = without(both(weighted(10, 10, 10), weighted(1, 2)), weighted(10, 10, 10));
    assert.deepEqual(only, { count: 2, weight: 3, squares: 5, effectiveBase: 9 / 5 });
    assert.equal(without(weighted(0.1, 0.2), weighted(0.2, 0.1)), nobody);
    // 1,000,000² + 0.001² is rounded to 1,000,000²: the one who is left has a square nevertheless.
    const light = without(both(weighted(1e6), weighted(0.001)), weighted(1e6));
    assert.deepEqual([light.count, light.effectiveBase], [1, 1]);
  });

  it('leaves out columns without respondents', () => {
    assert.deepEqual(significant([[30, 0, 0]], [50, 0, 50]), [['a>c']]);
    assert.deepEqual(significant([[0, 0]], [0, 0]), [[]]);
    assert.deepEqual(significant([[5]], [5]), [[]]);
    assert.deepEqual(runAtOnce(compareColumns([], 2, { level: 0.95 })), [[], []]);
  });

  it('agrees with Pearson’s chi-square of the two columns', () => {
    const column = fc.tuple(fc.nat(200), fc.nat(200));
    fc.assert(
      fc.property(column, column, fc.constantFrom(0.8, 0.9, 0.95, 0.99), ([x, notX], [y, notY], level) => {
        const { pValue } = associationOf([
          [x, y],
          [notX, notY],
        ]).chiSquare;
        const isGreater = x * (y + notY) > y * (x + notX);
        const rarer = Math.min(x + y, notX + notY) / (x + y + notX + notY);
        fc.pre(rarer * Math.min(x + notX, y + notY) >= 5);
        const [[pair] = []] = significant([[x, y]], [x + notX, y + notY], { level });
        assert.equal(pair, pValue !== null && pValue < 1 - level ? (isGreater ? 'a>b' : 'b>a') : undefined);
      }),
    );
  });

  it('agrees with the adjusted p-values of each correction', () => {
    const column = fc.record({
      base: fc.integer({ min: 1, max: 300 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(column, { minLength: 2, maxLength: 6 }), fc.constantFrom(0.9, 0.95), (columns, level) => {
        const counts = columns.map(({ base, share }) => Math.round(base * share));
        const bases = columns.map(({ base }) => base);
        const tested = counts
          .flatMap((x, i) =>
            counts.slice(i + 1).flatMap((y, after) => {
              const [n, m] = [bases[i] ?? 0, bases[i + 1 + after] ?? 0];
              if (x + y === 0 || x + y === n + m) return [];
              if ((Math.min(x + y, n + m - x - y) / (n + m)) * Math.min(n, m) < 5)
                return [fisherTest([x, n - x], [y, m - y])];
              const { pValue } = associationOf([
                [x, y],
                [n - x, m - y],
              ]).chiSquare;
              return pValue === null ? [] : [pValue];
            }),
          )
          .sort((one, other) => one - other);
        const count = (of: (p: number, index: number) => number) =>
          tested.filter((p, index) => of(p, index) < 1 - level).length;
        const adjusted = (index: number) =>
          Math.min(...tested.slice(index).map((p, after) => (p * tested.length) / (index + after + 1)));
        assert.equal(
          significant([counts], bases, { level, correction: 'bonferroni' })[0]?.length,
          count((p) => p * tested.length),
        );
        assert.equal(
          significant([counts], bases, { level, correction: 'fdr' })[0]?.length,
          count((_, index) => adjusted(index)),
        );
      }),
    );
  });

  it('counts the tests of a table', () => {
    assert.deepEqual([comparisonsIn(3, 4), comparisonsIn(2, 1)], [18, 0]);
  });
});
