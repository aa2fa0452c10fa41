import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareReaders } from '../support/submission-bodies.ts';
import { compareChecks } from '../unit/domain/submission/compare-answer-checks.ts';
import { compareReadings } from '../unit/domain/submission/compare-fast-reader.ts';

describe('thousands of valid and almost valid submissions', () => {
  it('are accepted by the hand-written reader exactly if the documented schema accepts them', () => {
    const { taken, refused } = compareReaders(3000);
    assert.ok(taken > 500 && refused > 500, `${taken} were taken, ${refused} refused`);
  });

  it('give the same row on the fast path as on the general path', () => {
    const { read, left } = compareReadings(8000);
    assert.ok(read > 1500 && left > 1500, `${read} were read, ${left} left`);
  });

  for (const isComplete of [true, false])
    it(`are checked by hand exactly as by a schema, ${isComplete ? 'complete' : 'partial'} ones`, () => {
      const { taken, refused } = compareChecks({ submissions: 1000, isComplete });
      assert.ok(taken > 100 && refused > 100, `${taken} were taken, ${refused} refused`);
    });
});
