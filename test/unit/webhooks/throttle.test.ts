import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRateThrottle } from '../../../src/webhooks/throttle.ts';

describe('the rate of an endpoint', () => {
  it('spreads events evenly', () => {
    let nowMs = 0;
    const starts: number[] = [];
    const throttle = createRateThrottle(() => nowMs);
    for (const events of [1, 1, 1, 50, 1]) {
      nowMs += throttle.waitMs(10);
      throttle.take(10, events);
      starts.push(nowMs);
    }
    assert.deepEqual(starts, [0, 100, 200, 300, 5300]);
  });

  it('loses no turn by late timers, and gains none by rest', () => {
    let nowMs = 0;
    const throttle = createRateThrottle(() => nowMs);
    throttle.take(10);
    nowMs = 107;
    throttle.take(10);
    assert.equal(throttle.waitMs(10), 93);
    nowMs = 60_000;
    throttle.take(10);
    assert.equal(throttle.waitMs(10), 100);
  });

  it('takes a turn back, unless another one was taken since', () => {
    const throttle = createRateThrottle(() => 0);
    throttle.take(10)();
    assert.equal(throttle.waitMs(10), 0);
    const giveBack = throttle.take(10);
    throttle.take(10, 50);
    giveBack();
    assert.equal(throttle.waitMs(10), 5100);
  });
});
