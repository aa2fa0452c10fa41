import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoadThrottle } from '../../../../src/pipelines/exports/load-throttle.ts';

describe('the throttle of exports', () => {
  it('pauses eight times as long as it worked under load, and not at all otherwise', async () => {
    let nowMs = 0;
    const rests: number[] = [];
    const pace = createLoadThrottle({
      now: () => nowMs,
      wait: async (ms) => {
        rests.push(ms);
        nowMs += ms;
      },
    });
    const work = async (ms: number) => {
      nowMs += ms;
      await pace.waitIfThrottled();
    };
    await work(500);
    assert.deepEqual(rests, []);
    pace.setUnderLoad(true);
    await work(30);
    await work(30);
    assert.deepEqual(rests, [480]);
    await work(100);
    pace.setUnderLoad(true);
    await work(10_000);
    assert.deepEqual(rests, [480, 800, 4000]);
    pace.setUnderLoad(false);
    await work(1000);
    assert.deepEqual(rests, [480, 800, 4000]);
  });
});
