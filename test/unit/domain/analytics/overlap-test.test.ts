import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nobody } from '../../../../src/domain/analytics/crosstab-counts.ts';
import { overlapTest } from '../../../../src/domain/analytics/exact-tests.ts';
import { plain, weighted } from '../../../support/respondent-sums.ts';

describe('the exact test of overlapping columns', () => {
  it('is that of the least favourable answers of those in both', () => {
    const size = fc.nat(4);
    fc.assert(
      fc.property(size, size, size, fc.nat(4), fc.nat(4), fc.nat(4), (onlyOne, shared, onlyOther, a, c, b) => {
        const [inOne, inBoth, inOther] = [Math.min(a, onlyOne), Math.min(c, shared), Math.min(b, onlyOther)];
        const [base, otherBase] = [onlyOne + shared, onlyOther + shared];
        fc.pre(base > 0 && otherBase > 0);
        const [row, otherRow] = [inOne + inBoth, inOther + inBoth];
        // The first column has the greater share.
        fc.pre(row * otherBase >= otherRow * base);
        const groups = { one: plain(onlyOne), both: plain(shared), other: plain(onlyOther) };
        const p = overlapTest(groups, row / base, otherRow / otherBase);
        const expected = leastFavourable({ onlyOne, both: shared, onlyOther, row, otherRow });
        assert.ok(p !== undefined && Math.abs(p - expected) < 1e-9, `${p} is not ${expected}`);
      }),
    );
  });

  it('counts with the effective bases of three groups', () => {
    const p = (groups: Parameters<typeof overlapTest>[0], share: number, otherShare: number, expected: number) => {
      const found = overlapTest(groups, share, otherShare) ?? Number.NaN;
      assert.ok(Math.abs(found - expected) < 1e-9, `${found} is not ${expected}`);
    };
    // A of three of weight 2, all in the row, within B, which has four of weight 1 more, none in the row. Three of the
    // seven in the row differ as much if they are those three: p = 1 / C(7, 3).
    p({ one: nobody, both: weighted(2, 2, 2), other: weighted(1, 1, 1, 1) }, 1, 6 / 10, 1 / 35);
    // A of three of weight 1, none in the row, within B, which has one of weight 5 more, in the row: p = 1 / 4.
    p({ one: weighted(5), both: weighted(1, 1, 1), other: nobody }, 5 / 8, 0, 1 / 4);
    // Two of weight 1 in A only, in the row; one of weight 2 in both; two of weight 1 in B only, not in the row. With
    // the one in both in the row or not, three or two of five are drawn, and one set of ten differs as much each way:
    // p = 2 / 10.
    p({ one: weighted(1, 1), both: weighted(2), other: weighted(1, 1) }, 1, 0.5, 2 / 10);
    // Weights 1 and 0.2 are an effective base of 1.38, one of 1.2: its half in the row is rounded to none of it.
    p({ one: weighted(1, 0.2), both: weighted(2), other: nobody }, 0.5 * (1.2 / 3.2), 0, 1);
  });

  it('is left out where it would take too long, or where no answers are possible', () => {
    const many = { one: plain(50_000), both: plain(50_000), other: plain(50_000) };
    assert.equal(overlapTest(many, 0.004, 0.003), undefined);
    assert.equal(overlapTest({ one: nobody, both: plain(3), other: nobody }, 1, 0), undefined);
  });

  it('is a probability where the sums of very different weights are rounded', () => {
    // One of weight 5e16 in A only, in the row, where its column is rounded to 100 %; of those in both, half.
    const groups = { one: weighted(5e16), both: weighted(3, 1, 3, 1), other: nobody };
    assert.equal(overlapTest(groups, 1, 0.5), 1);
    fc.assert(
      fc.property(
        fc.constantFrom(1e8, 1e12, 2e16, 5e24),
        fc.array(
          fc.record({ place: fc.nat(2), isHeavy: fc.boolean(), weight: fc.constantFrom(1, 3), isInRow: fc.boolean() }),
        ),
        (ratio, given) => {
          const all = given.map((one) => ({
            ...one,
            weight: one.weight * (one.isHeavy && one.place !== 1 ? ratio : 1),
          }));
          const sumOf = (places: readonly number[], rows = [true, false]) =>
            weighted(
              ...all.flatMap(({ place, weight, isInRow }) =>
                places.includes(place) && rows.includes(isInRow) ? [weight] : [],
              ),
            );
          const shareOf = (places: readonly number[]) =>
            Math.min(1, sumOf(places, [true]).weight / sumOf(places).weight);
          const [share, otherShare] = [shareOf([0, 1]), shareOf([1, 2])];
          fc.pre(share >= otherShare);
          const p = overlapTest({ one: sumOf([0]), both: sumOf([1]), other: sumOf([2]) }, share, otherShare);
          assert.ok(p === undefined || (p > 0 && p <= 1), String(p));
        },
      ),
    );
  });
});

interface Overlap {
  onlyOne: number;
  both: number;
  onlyOther: number;
  /** Respondents of each column in the row. */
  row: number;
  otherRow: number;
}

/**
 * The greatest p-value over all numbers in the row among those in both columns, by drawing every set of respondents.
 */
function leastFavourable({ onlyOne, both, onlyOther, row, otherRow }: Overlap): number {
  const all = onlyOne + both + onlyOther;
  const difference = (inOne: number, inOther: number) =>
    Math.abs(inOne / (onlyOne + both) - inOther / (both + onlyOther));
  let greatest = 0;
  for (let inBoth = 0; inBoth <= both; inBoth += 1) {
    if (row - inBoth < 0 || row - inBoth > onlyOne || otherRow - inBoth < 0 || otherRow - inBoth > onlyOther) continue;
    let [drawn, extreme] = [0, 0];
    for (let set = 0; set < 2 ** all; set += 1) {
      const members = Array.from({ length: all }, (_, index) => (set >> index) & 1);
      const count = (from: number, to: number) => members.slice(from, to).reduce((sum, member) => sum + member, 0);
      if (count(0, all) !== row + otherRow - inBoth) continue;
      drawn += 1;
      const found = difference(count(0, onlyOne + both), count(onlyOne, all));
      if (found >= difference(row, otherRow) - 1e-12) extreme += 1;
    }
    greatest = Math.max(greatest, extreme / drawn);
  }
  return greatest;
}
