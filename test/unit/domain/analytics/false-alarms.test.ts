import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareColumns } from '../../../../src/domain/analytics/significance.ts';
import { runAtOnce } from '../../../../src/platform/slices.ts';
import { associationOf } from '../../../support/crosstabs.ts';

/** Mulberry32, so that every run draws the same respondents. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const shape: Shape = { rows: [0.2, 0.5, 0.3], columns: [0.4, 0.3, 0.3] };

/** Shares of the respondents in each row and column. */
interface Shape {
  rows: readonly number[];
  columns: readonly number[];
}

interface Survey extends Shape {
  respondents: number;
  /** Standard deviation of the logarithm of the weights. */
  sigma: number;
  /** How many times as heavy respondents in the first row are. */
  firstRow?: number;
  /** Number of tables; default 2000. */
  tables?: number;
}

/** Shares of the tables without any association that each test calls significant at 5 %, the first at 0.1 % too. */
function falseAlarms({ rows, columns, respondents, sigma, firstRow = 1, tables = 2000 }: Survey) {
  const random = createRandom(20_261);
  const draw = (shares: readonly number[]) => {
    let left = random();
    const found = shares.findIndex((share) => {
      left -= share;
      return left < 0;
    });
    return found < 0 ? shares.length - 1 : found;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  let [corrected, strong, uncorrected] = [0, 0, 0];
  for (let table = 0; table < tables; table += 1) {
    const zeros = () => rows.map(() => columns.map(() => 0));
    const [weights, squares] = [zeros(), zeros()];
    for (let index = 0; index < respondents; index += 1) {
      const [row, column] = [draw(rows), draw(columns)];
      const weight = Math.exp(sigma * normal() - sigma ** 2 / 2) * (row === 0 ? firstRow : 1);
      for (const [sums, value] of [
        [weights, weight],
        [squares, weight ** 2],
      ] as const) {
        const line = sums[row] ?? [];
        line[column] = (line[column] ?? 0) + value;
      }
    }
    const found = associationOf(weights, { squares });
    if ((found.chiSquare.pValue ?? 1) < 0.05) corrected += 1;
    if ((found.chiSquare.pValue ?? 1) < 0.001) strong += 1;
    if ((found.uncorrectedChiSquare?.pValue ?? 1) < 0.05) uncorrected += 1;
  }
  return { corrected: corrected / tables, strong: strong / tables, uncorrected: uncorrected / tables };
}

/** Of lognormal weights: their design effect, 1 + the squared coefficient of variation, is exp(sigma²). */
const sigmaOf = (designEffect: number): number => Math.sqrt(Math.log(designEffect));

/** A respondent of the tests between columns: in the row or not, in each of two columns or not. */
type Drawn = (
  random: () => number,
  index: number,
) => { isInRow: boolean; isInOne: boolean; isInOther: boolean; weight: number };

/** The share of comparisons of two columns that are called significant at 5 %; by default of 4000. */
function columnAlarms(size: number, draw: Drawn, runs = 4000): number {
  const random = createRandom(731);
  let alarms = 0;
  for (let run = 0; run < runs; run += 1) {
    const sums = { one: [0, 0, 0, 0], other: [0, 0, 0, 0], shared: [0, 0, 0, 0] };
    for (let index = 0; index < size; index += 1) {
      const { isInRow, isInOne, isInOther, weight } = draw(random, index);
      for (const [isIn, column] of [
        [isInOne, sums.one],
        [isInOther, sums.other],
        [isInOne && isInOther, sums.shared],
      ] as const) {
        if (!isIn) continue;
        for (const [place, amount] of [1, weight, weight ** 2, isInRow ? weight : 0].entries())
          column[place] = (column[place] ?? 0) + amount;
      }
    }
    const sampleOf = ([count = 0, weight = 0, squares = 0]: readonly number[]) => ({
      count,
      weight,
      squares,
      effectiveBase: squares === 0 ? 0 : weight ** 2 / squares,
    });
    const columns = [sums.one, sums.other].map((column, index) => ({
      value: String(index),
      ...sampleOf(column),
      shares: [column[1] ? (column[3] ?? 0) / column[1] : 0],
    }));
    const found = runAtOnce(compareColumns(columns, 1, { level: 0.95 }, () => sampleOf(sums.shared)));
    if (found[0]?.some((over) => over.length > 0)) alarms += 1;
  }
  return alarms / runs;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

describe('false alarms of the weighted chi-square at a nominal 5 %', () => {
  for (const [designEffect, least] of [
    [1, 0.035],
    [1.43, 0.12],
    [2.72, 0.4],
  ] as const)
    it(`are about 5 % at a design effect of ${designEffect}, and more without the correction`, (t) => {
      const { corrected, uncorrected } = falseAlarms({ ...shape, respondents: 400, sigma: sigmaOf(designEffect) });
      t.diagnostic(
        `design effect ${designEffect}: ${percent(corrected)} corrected, ${percent(uncorrected)} uncorrected`,
      );
      assert.ok(corrected > 0.03 && corrected < 0.065, percent(corrected));
      assert.ok(uncorrected > least, percent(uncorrected));
    });

  it('are about 5 % where the weights depend on the rows', (t) => {
    const { corrected } = falseAlarms({ ...shape, respondents: 400, sigma: sigmaOf(1.43), firstRow: 3 });
    t.diagnostic(`weights that depend on the row: ${percent(corrected)} corrected`);
    assert.ok(corrected > 0.03 && corrected < 0.065, percent(corrected));
  });

  const halves: Shape = { rows: [0.5, 0.5], columns: [0.5, 0.5] };
  for (const [respondents, least] of [
    [4, 0],
    [10, 0],
    [20, 0],
    [50, 0.03],
  ] as const)
    it(`are at most 5 % for ${respondents} respondents, however their weights are spread`, (t) => {
      for (const sigma of [0.5, 1, 1.5])
        for (const [name, { rows, columns }] of Object.entries({ '2 × 2': halves, '3 × 3': shape })) {
          const { corrected, strong, uncorrected } = falseAlarms({ rows, columns, respondents, sigma, tables: 4000 });
          const text = `${name}, sigma ${sigma}: ${percent(corrected)}, ${percent(strong)} at 0.1 %`;
          t.diagnostic(`${text}; ${percent(uncorrected)} uncorrected`);
          // Three standard errors above 5 and 0.1 %.
          assert.ok(corrected < 0.06 && strong < 0.0025, text);
          // In large tables with few respondents for each cell the test is careful.
          if (name === '2 × 2') assert.ok(corrected > least, text);
        }
    });
});

describe('false alarms of the tests between columns at a nominal 5 %', () => {
  const half = (random: () => number) => random() < 0.5;

  it('are about 5 % where columns share half of their respondents', (t) => {
    const alarms = columnAlarms(300, (random) => {
      const place = random();
      return { isInRow: random() < 0.3, isInOne: place < 0.5, isInOther: place >= 0.25 && place < 0.75, weight: 1 };
    });
    t.diagnostic(`half of the respondents in both: ${percent(alarms)}`);
    assert.ok(alarms > 0.035 && alarms < 0.065, percent(alarms));
  });

  it('are about 5 % with weights', (t) => {
    const sigma = sigmaOf(1.43);
    const alarms = columnAlarms(400, (random) => {
      const isInOne = half(random);
      const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      return { isInRow: random() < 0.3, isInOne, isInOther: !isInOne, weight: Math.exp(sigma * normal) };
    });
    t.diagnostic(`design effect 1.43: ${percent(alarms)}`);
    assert.ok(alarms > 0.035 && alarms < 0.065, percent(alarms));
  });

  it('are at most 5 % in small columns, apart and overlapping', (t) => {
    for (const [name, shared] of [
      ['apart', 0],
      ['overlapping', 0.5],
    ] as const) {
      const alarms = columnAlarms(14, (random) => {
        const isInOne = half(random);
        return { isInRow: random() < 0.3, isInOne, isInOther: isInOne ? random() < shared : true, weight: 1 };
      });
      t.diagnostic(`fourteen respondents, ${name}: ${percent(alarms)}`);
      assert.ok(alarms <= 0.05, percent(alarms));
    }
  });

  /** Respondents in only one column, in both and in only the other: how many, and their weight. */
  const groups =
    (counts: readonly [number, number, number], weights: readonly [number, number, number], shares: number[]): Drawn =>
    (random, index) => {
      const group = index < counts[0] ? 0 : index < counts[0] + counts[1] ? 1 : 2;
      return {
        isInRow: random() < (shares[group] ?? 0),
        isInOne: group < 2,
        isInOther: group > 0,
        weight: weights[group] ?? 0,
      };
    };
  const sizeOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

  for (const [name, counts, weights, share] of [
    ['one heavy respondent beside a light column', [0, 500, 1], [1, 1, 5], 0.15],
    ['five heavy respondents beside a light column', [0, 500, 5], [1, 1, 5], 0.1],
    ['ten heavy respondents beside a light column', [0, 500, 10], [1, 1, 5], 0.3],
    ['two very heavy respondents against many light ones', [500, 1000, 2], [1, 1, 70], 0.3],
    ['a light rest of a heavy column', [0, 100, 100], [1, 10, 1], 0.3],
    ['heavy respondents in both columns', [60, 60, 60], [1, 3, 1], 0.3],
  ] as const)
    it(`are at most about 5 % with ${name} in overlapping columns`, (t) => {
      const alarms = columnAlarms(sizeOf(counts), groups(counts, weights, [share, share, share]));
      t.diagnostic(`${name}: ${percent(alarms)}`);
      assert.ok(alarms < 0.065, percent(alarms));
    });

  for (const [name, counts, weights, shares] of [
    ['a light rest of a heavy column', [0, 200, 200], [1, 10, 1], [0, 0.6, 0.3]],
    ['a small light rest of a heavy column', [0, 300, 60], [1, 2, 1], [0, 0.6, 0.2]],
    ['a few respondents and heavy ones in both', [8, 4, 8], [1, 3, 1], [1, 0.5, 0]],
  ] as const)
    it(`leave real differences to be found, with ${name} in overlapping columns`, (t) => {
      const found = columnAlarms(sizeOf(counts), groups(counts, weights, [...shares]), 300);
      t.diagnostic(`${name}: ${percent(found)} found`);
      assert.ok(found > 0.95, percent(found));
    });
});
