import assert from 'node:assert/strict';
import { it } from 'node:test';
import { durationMs } from '../../../../src/domain/submission/submission.ts';

const daysMs = (days: number): number => days * 86_400_000;
const now = Date.UTC(2026, 2, 1);

it('a response has a duration of 0 to 30 days, and none where the clock that gave its start was wrong', () => {
  assert.deepEqual(
    [now, now - 61_000, now - daysMs(30)].map((start) => durationMs(start, now)),
    [0, 61_000, daysMs(30)],
  );
  assert.deepEqual(
    [undefined, now + 1, now + daysMs(1), now - daysMs(30) - 1].map((start) => durationMs(start, now)),
    [-1, -1, -1, -1],
  );
});

it('a response saved in parts lasts to its completion, unless its start was after the first save', () => {
  assert.equal(durationMs(now - 4000, now, now + 600_000), 604_000);
  assert.deepEqual(
    [now + 116_000, now + daysMs(3)].map((start) => durationMs(start, now, now + daysMs(3) + 60_000)),
    [-1, -1],
  );
});
