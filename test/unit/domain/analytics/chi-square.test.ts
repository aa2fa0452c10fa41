import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { chiSquareTail, logGamma, sliceAssociation } from '../../../../src/domain/analytics/chi-square.ts';
import { associationOf, isNear } from '../../../support/crosstabs.ts';

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
    // NumPy 2.4.6: Δ from Kronecker products of D⁻¹ − 11' of rows and columns, its trace and that of its square. The
    // trace is 0.99595 of that of equal weights, and the effective base 9.3889.
    isNear(chiSquare.statistic, 2.958914144131578);
    isNear(chiSquare.effectiveDegreesOfFreedom ?? null, 1.909935075396067);
    isNear(chiSquare.pValue, 0.228308616276838);
  });

  it('of weights makes few respondents no more significant than without them', () => {
    const split = (...weights: readonly (readonly number[])[]) => {
      const table = (power: number) =>
        weights.map((line, row) =>
          weights.map((_, column) => (row === column ? line.reduce((sum, weight) => sum + weight ** power, 0) : 0)),
        );
      return associationOf(table(1), { squares: table(2) }).chiSquare.pValue ?? 0;
    };
    // Perfectly split, and the lightest respondents alone in their row: unweighted p = 0.157, 0.157 and 0.0455.
    isNear(split([1], [1]), 0.15729920705028513);
    isNear(split([1], [10]), 0.22901457360147434);
    isNear(split([1], [100]), 0.26827380279466484);
    isNear(split([1, 1], [10, 10]), 0.06651731228712987);
  });

  it('of weights gives way after each pass over the table', () => {
    const table = [
      [2, 1],
      [1, 3],
    ];
    const pauses = [...sliceAssociation(table, { squares: table })].length;
    assert.ok(pauses > 15, `${pauses} pauses`);
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

it('the design effects of weights keep their digits beside weights a billion times as great', () => {
  // Effective degrees of freedom by the formula of `designEffectSums`, computed with rational numbers.
  for (const [great, effectiveDegreesOfFreedom] of [
    [1e2, 3.8101451712045074],
    [1e8, 2.450868908268898],
    [1e12, 2.4508631033068706],
  ] as const) {
    const table = [
      [1061, 60, 15],
      [32, 208, 9],
      [33, 36, 5],
      [16, 8, 6],
      [31 + great, 37 + great, 72 + great],
    ];
    const squares = [
      [1_000_134, 135, 43],
      [59, 22_633, 15],
      [68, 77, 9],
      [48, 18, 10],
      [40 + great ** 2, 40 + great ** 2, 40 + great ** 2],
    ];
    isNear(
      associationOf(table, { squares }).chiSquare.effectiveDegreesOfFreedom ?? 0,
      effectiveDegreesOfFreedom,
      1e-12,
    );
  }
});
