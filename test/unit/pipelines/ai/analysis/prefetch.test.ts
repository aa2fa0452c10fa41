import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { prefetch } from '../../../../../src/pipelines/ai/analysis/prefetch.ts';

describe('items that are made ahead', () => {
  it('are so many more than are taken, and in their order', async () => {
    let made = 0;
    async function* items(): AsyncGenerator<number, void> {
      for (; made < 9; ) yield made++;
    }
    const taken: number[] = [];
    for await (const item of prefetch(items(), 2)) {
      for (let turned = 0; turned < 20; turned += 1) await turn();
      taken.push(item);
      assert.equal(made, Math.min(9, item + 3));
    }
    assert.deepEqual(taken, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('are all taken before the failure that came after them', async () => {
    async function* items(): AsyncGenerator<number, void> {
      yield* [0, 1];
      throw new Error('broken');
    }
    const taken: number[] = [];
    await assert.rejects(async () => {
      for await (const item of prefetch(items(), 5)) {
        for (let turned = 0; turned < 20; turned += 1) await turn();
        taken.push(item);
      }
    }, /broken/);
    assert.deepEqual(taken, [0, 1]);
  });

  it('end, with what they are made from, when nobody takes more', async () => {
    let isClosed = false;
    async function* items(): AsyncGenerator<number, void> {
      try {
        for (let n = 0; ; n += 1) yield n;
      } finally {
        isClosed = true;
      }
    }
    for await (const item of prefetch(items(), 3)) if (item === 2) break;
    assert.ok(isClosed);
  });
});
