import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createAnonymiser, openAnonymiser, type Anonymise } from '../../src/ai/anonymise.ts';
import { hostilePieces } from '../support/hostile-pieces.ts';

const length = 100_000;
const prose = 'The staff was friendly and the food came after 25 minutes, which is fine for a Monday. ';
const repeated = (piece: string, units: number): string => piece.repeat(Math.ceil(units / piece.length)).slice(0, units);

/** Of the processor: the clock on the wall also counts what else the machine does. The better of two, since a collection of garbage may fall into one. */
function milliseconds(work: () => unknown): number {
  return Math.min(...[1, 2].map(() => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  }));
}

describe('the anonymiser and hostile texts of 100,000 characters', () => {
  let anonymise: Anonymise;
  let usual: number;
  before(async () => {
    anonymise = await openAnonymiser();
    usual = milliseconds(() => createAnonymiser(() => [])(repeated(prose, length)));
  });

  for (const [index, piece] of hostilePieces.entries())
    it(`takes time in proportion to the length of number ${index}, ${JSON.stringify(piece.slice(0, 12))}`, () => {
      const take = (units: number) => milliseconds(() => createAnonymiser(() => [])(repeated(piece, units)));
      const [short, long] = [take(length / 10), take(length)];
      assert.ok(long < usual * 30 + 100, `prose ${usual} ms, this ${long} ms`);
      // Ten times as long: 10 would be linear, 100 quadratic. Some milliseconds are nobody's.
      assert.ok(long < short * 30 + 100, `${short} ms, then ${long} ms`);
    });

  for (const piece of ['Mr ', 'John ', 'a\n', '... A', 'tel 1', 'Anna Maria '])
    it(`does so where the library looks for names in ${JSON.stringify(piece)} too`, () => {
      const [short, long] = [2_000, 20_000].map((units) => milliseconds(() => anonymise(repeated(piece, units))));
      assert.ok((long ?? 0) < (short ?? 0) * 30 + 100, `${short} ms, then ${long} ms`);
    });
});
