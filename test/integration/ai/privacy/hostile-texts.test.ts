import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Anonymise, createAnonymiser, openAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';
import { hostilePieces } from '../../../support/hostile-pieces.ts';

const length = 100_000;
const prose = 'The staff was friendly and the food came after 25 minutes, which is fine for a Monday. ';
const repeated = (piece: string, units: number): string =>
  piece.repeat(Math.ceil(units / piece.length)).slice(0, units);

/** Processor time in milliseconds, since wall-clock time includes other work of the machine. */
function milliseconds(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The better of two. */
const best = (work: () => unknown): number => Math.min(milliseconds(work), milliseconds(work));

/** Whether it takes no longer, or did not the second time: a collection of garbage may fall into one. */
function assertWithin(limitMs: number, what: string, work: () => unknown): void {
  const tookMs = milliseconds(work);
  assert.ok(tookMs < limitMs || milliseconds(work) < limitMs, `${what}, this ${tookMs} ms`);
}

describe('the anonymiser and hostile texts of 100,000 characters', () => {
  let anonymise: Anonymise;
  let usual: number;
  before(async () => {
    anonymise = await openAnonymiser();
    usual = best(() => createAnonymiser(() => [])(repeated(prose, length)));
  });

  for (const [index, piece] of hostilePieces.entries())
    it(`takes time in proportion to the length of number ${index}, ${JSON.stringify(piece.slice(0, 12))}`, () => {
      const mask = (units: number) => createAnonymiser(() => [])(repeated(piece, units));
      const short = best(() => mask(length / 10));
      // For ten times the length a factor of 10 would be linear, 100 quadratic. Some milliseconds are noise.
      assertWithin(Math.min(usual * 30, short * 30) + 100, `prose ${usual} ms, a tenth of this ${short} ms`, () =>
        mask(length),
      );
    });

  for (const piece of ['Mr ', 'John ', 'a\n', '... A', 'tel 1', 'Anna Maria '])
    it(`does so where the library looks for names in ${JSON.stringify(piece)} too`, () => {
      const short = best(() => anonymise(repeated(piece, 2_000)));
      assertWithin(short * 30 + 100, `a tenth of this ${short} ms`, () => anonymise(repeated(piece, 20_000)));
    });
});
