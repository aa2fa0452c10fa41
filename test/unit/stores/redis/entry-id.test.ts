import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addedAtMs,
  compareIds,
  idAfter,
  idBefore,
  isAtOrAfter,
  maxEntryId,
} from '../../../../src/stores/redis/intake/entry-id.ts';

describe('ids of stream entries', () => {
  it('are in order by their milliseconds and then by their number, not as texts', () => {
    const ids = ['0-0', '9-10', '10-2', '10-10', '1764460800000-0', maxEntryId];
    assert.deepEqual([...ids].reverse().sort(compareIds), ids);
    assert.deepEqual([isAtOrAfter('10-2', '10-2'), isAtOrAfter('10-2', '10-10')], [true, false]);
    assert.equal(addedAtMs('1764460800000-7'), 1_764_460_800_000);
  });

  it('have neighbours', () => {
    assert.deepEqual(
      [idAfter('10-9'), idBefore('10-9'), idBefore('10-0')],
      ['10-10', '10-8', '9-18446744073709551615'],
    );
  });
});
