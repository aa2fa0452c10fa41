import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareReaders } from '../support/submission-bodies.ts';
import { compareChecks } from '../unit/domain/submission/compare-answer-checks.ts';
import { compareReadings } from '../unit/domain/submission/compare-fast-reader.ts';

describe('thousands of submissions that are right or nearly so', () => {
  it('are read by hand as the documented schema reads them', () => {
    const { taken, refused } = compareReaders(3000);
    assert.ok(taken > 500 && refused > 500, `${taken} were taken, ${refused} refused`);
  });

  it('are read to the same row where they are read without being parsed', () => {
    const { read, left } = compareReadings(8000);
    assert.ok(read > 1500 && left > 1500, `${read} were read, ${left} left`);
  });

  for (const isComplete of [true, false])
    it(`are checked by hand as a schema checks them, ${isComplete ? 'complete' : 'partial'} ones`, () => {
      const { taken, refused } = compareChecks({ submissions: 1000, isComplete });
      assert.ok(taken > 100 && refused > 100, `${taken} were taken, ${refused} refused`);
    });
});
