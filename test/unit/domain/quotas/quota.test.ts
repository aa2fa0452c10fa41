import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isFilledByChange, isQuotaReached } from '../../../../src/domain/quotas/quota.ts';

describe('the rule of the quota', () => {
  it('is reached when as many responses are complete as it has seats, and never without a quota', () => {
    assert.deepEqual(
      [isQuotaReached(2, 1), isQuotaReached(2, 2), isQuotaReached(2, 3), isQuotaReached(null, 9)],
      [false, true, true, false],
    );
  });

  it('is filled by a change that lowers it to what there is, and by no change of a quota that was reached before', () => {
    assert.deepEqual(
      [
        isFilledByChange(5, 3, 3),
        isFilledByChange(null, 3, 3),
        isFilledByChange(3, 2, 3),
        isFilledByChange(5, 4, 3),
        isFilledByChange(5, null, 3),
      ],
      [true, true, false, false, false],
    );
  });
});
