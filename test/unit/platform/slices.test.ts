import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { runInSlices, type SlicedWork } from '../../../src/platform/slices.ts';

describe('work in slices', () => {
  it('goes on one after the other, so that other calls wait for one slice only', async () => {
    /** Those that did something since the last turn of the event loop. */
    let busy = new Set<string>();
    function* work(name: string): SlicedWork<string> {
      for (let step = 0; step < 40; step += 1) {
        for (const until = performance.now() + 0.5; performance.now() < until; );
        busy.add(name);
        yield;
      }
      return name;
    }
    const turns: number[] = [];
    let isOver = false;
    const results = Promise.all(['a', 'b', 'c'].map((name) => runInSlices(work(name)))).finally(() => (isOver = true));
    busy = new Set();
    while (!isOver) {
      await nextTurn();
      turns.push(busy.size);
      busy = new Set();
    }
    assert.deepEqual(await results, ['a', 'b', 'c']);
    assert.equal(Math.max(...turns), 1);
    // Each takes 20 ms, in slices of 3.
    assert.ok(turns.filter((size) => size === 1).length >= 9, `${turns}`);
  });
});
