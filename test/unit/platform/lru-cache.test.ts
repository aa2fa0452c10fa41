import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLruCache } from '../../../src/platform/lru-cache.ts';

describe('LRU cache', () => {
  it('holds at most twice its capacity and keeps what is read', () => {
    const cache = createLruCache<number>(100);
    cache.set('kept', -1);
    for (let n = 0; n < 10_000; n += 1) {
      cache.set(`k${n}`, n);
      assert.equal(cache.get('kept'), -1);
      assert.ok(cache.size <= 200);
    }
    assert.equal(cache.get('k9999'), 9999);
    assert.equal(cache.get('k0'), undefined);
    cache.delete('kept');
    assert.equal(cache.get('kept'), undefined);
  });

  it('evicts each value once, and none that is still in use', () => {
    const evicted: number[] = [];
    const cache = createLruCache<number>(2, (value) => evicted.push(value));
    for (let n = 0; n < 10; n += 1) {
      assert.equal(
        cache.getOrCreate('used', () => -1),
        -1,
      );
      cache.getOrCreate(`k${n}`, () => n);
    }
    assert.ok(!evicted.includes(-1));
    cache.clear();
    assert.deepEqual(
      evicted.sort((a, b) => a - b),
      [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
    assert.equal(cache.size, 0);
  });
});
