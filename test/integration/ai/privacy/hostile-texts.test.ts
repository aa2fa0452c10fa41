import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Anonymise, createAnonymiser, openAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';
import { processorMs } from '../../../support/event-loop-hold.ts';
import { hostilePieces } from '../../../support/hostile-pieces.ts';
import { extraMsPerPageFault } from '../../../support/machine-speed.ts';

const length = 100_000;
const prose = 'The staff was friendly and the food came after 25 minutes, which is fine for a Monday. ';
const repeated = (piece: string, units: number): string =>
  piece.repeat(Math.ceil(units / piece.length)).slice(0, units);

/** The better of two. */
const best = (work: () => void): number => Math.min(processorMs(work), processorMs(work));

const extraMs = extraMsPerPageFault();
/** Processor time, page faults counted as on a machine at rest: long texts take much memory, and short ones none. */
function processorMsAtRest(work: () => void): number {
  const faultsBefore = process.resourceUsage().minorPageFault;
  const tookMs = processorMs(work);
  return tookMs - (process.resourceUsage().minorPageFault - faultsBefore) * extraMs;
}

/** Whether it takes no longer, or did not the second time: a collection of garbage may fall into one. */
function assertWithin(limitMs: number, what: string, work: () => void): void {
  const tookMs = processorMsAtRest(work);
  assert.ok(tookMs < limitMs || processorMsAtRest(work) < limitMs, `${what}, this ${tookMs} ms`);
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
