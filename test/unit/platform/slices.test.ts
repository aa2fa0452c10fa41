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

  it('takes turns by user, so that one with much work holds another up no longer than one with little', async () => {
    const slices: string[] = [];
    function* work(name: string): SlicedWork<void> {
      for (let step = 0; step < 40; step += 1) {
        for (const until = performance.now() + 0.5; performance.now() < until; );
        if (slices.at(-1) !== name) slices.push(name);
        yield;
      }
    }
    const busy = Array.from({ length: 20 }, (_, index) => runInSlices(work(`busy ${index}`), 'busy'));
    await runInSlices(work('other'), 'other');
    const others = slices.flatMap((name, index) => (name === 'other' ? [index] : []));
    const between = others.slice(1).map((index, at) => index - (others[at] ?? 0) - 1);
    assert.ok(between.length >= 1 && between.every((count) => count <= 1), `${between}`);
    await Promise.all(busy);
    assert.equal(new Set(slices).size, 21);
  });
});
