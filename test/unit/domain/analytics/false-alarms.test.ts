import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { associationOf } from '../../../../src/domain/analytics/chi-square.ts';

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

const tables = 2000;
const respondents = 400;
const rowShares = [0.2, 0.5, 0.3];
const columnShares = [0.4, 0.3, 0.3];

/** Shares of `tables` tables without any association that each test calls significant at 5 %. */
function falseAlarms(designEffect: number, { dependsOnRow = false } = {}) {
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
  // Lognormal weights of mean 1: the design effect, 1 + the squared coefficient of variation, is exp(sigma²).
  const sigma = Math.sqrt(Math.log(designEffect));
  let [corrected, uncorrected] = [0, 0];
  for (let table = 0; table < tables; table += 1) {
    const zeros = () => rowShares.map(() => columnShares.map(() => 0));
    const [weights, squares] = [zeros(), zeros()];
    for (let index = 0; index < respondents; index += 1) {
      const [row, column] = [draw(rowShares), draw(columnShares)];
      const weight = Math.exp(sigma * normal() - sigma ** 2 / 2) * (dependsOnRow && row === 0 ? 3 : 1);
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
    if ((found.uncorrectedChiSquare?.pValue ?? 1) < 0.05) uncorrected += 1;
  }
  return { corrected: corrected / tables, uncorrected: uncorrected / tables };
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

describe('false alarms of the weighted chi-square at a nominal 5 %', () => {
  for (const [designEffect, least] of [
    [1, 0.035],
    [1.43, 0.12],
    [2.72, 0.4],
  ] as const)
    it(`are about 5 % at a design effect of ${designEffect}, and more without the correction`, (t) => {
      const { corrected, uncorrected } = falseAlarms(designEffect);
      t.diagnostic(
        `design effect ${designEffect}: ${percent(corrected)} corrected, ${percent(uncorrected)} uncorrected`,
      );
      assert.ok(corrected > 0.03 && corrected < 0.065, percent(corrected));
      assert.ok(uncorrected > least, percent(uncorrected));
    });

  it('are about 5 % where the weights depend on the rows', (t) => {
    const { corrected } = falseAlarms(1.43, { dependsOnRow: true });
    t.diagnostic(`weights that depend on the row: ${percent(corrected)} corrected`);
    assert.ok(corrected > 0.03 && corrected < 0.065, percent(corrected));
  });
});
