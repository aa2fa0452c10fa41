import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isPasswordLength } from '../../../src/auth/passwords.ts';
import { Problem } from '../../../src/errors.ts';
import { createLruCache } from '../../../src/platform/lru-cache.ts';
import { createSemaphore } from '../../../src/platform/semaphore.ts';
import { createTtlCache } from '../../../src/platform/ttl-cache.ts';

describe('passwords', () => {
  it('have 8 to 200 characters, counted as people count them', () => {
    assert.deepEqual(
      [
        '1234567',
        '12345678',
        '😀'.repeat(7),
        '😀'.repeat(8),
        'a'.repeat(200),
        'a'.repeat(201),
        '😀'.repeat(200),
        '😀'.repeat(201),
      ].map(isPasswordLength),
      [false, true, false, true, true, false, true, false],
    );
  });
});

describe('the gate', () => {
  it('runs a few at once, lets a few wait in order and refuses the rest', async () => {
    const gate = createSemaphore({
      concurrency: 2,
      maxQueued: 3,
      retryAfterSeconds: 7,
      queueFullMessage: 'Too many at this moment',
    });
    const [started, finish]: [number[], (() => void)[]] = [[], []];
    const work = Array.from({ length: 5 }, (_, n) =>
      gate.run(
        () =>
          new Promise<number>((resolve) => {
            started.push(n);
            finish.push(() => resolve(n));
          }),
      ),
    );
    await assert.rejects(
      gate.run(async () => 0),
      (error) => error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE' && error.retryAfterSeconds === 7,
    );
    assert.throws(gate.assertCapacity, /at this moment/);
    for (let n = 0; n < 5; n += 1) {
      assert.deepEqual(started, [0, 1, 2, 3, 4].slice(0, n + 2));
      finish[n]?.();
      assert.equal(await work[n], n);
      await new Promise(setImmediate);
    }
    gate.assertCapacity();
    assert.equal(await gate.run(async () => 9), 9);
  });

  it('is left by work that fails', async () => {
    const gate = createSemaphore({
      concurrency: 1,
      maxQueued: 0,
      retryAfterSeconds: 1,
      queueFullMessage: 'Too many at this moment',
    });
    for (let n = 0; n < 3; n += 1)
      await assert.rejects(
        gate.run(() => Promise.reject(new Error('broken'))),
        /broken/,
      );
    assert.equal(await gate.run(async () => 1), 1);
  });
});

describe('the fresh cache', () => {
  const setUp = () => {
    const state = { nowMs: 0, asked: 0, answer: 'a' as string | Error };
    const load = async () => {
      state.asked += 1;
      if (state.answer instanceof Error) throw state.answer;
      return state.answer;
    };
    return { state, cache: createTtlCache({ ttlMs: 800, capacity: 10, load, monotonicMs: () => state.nowMs }) };
  };

  it('asks once for all who ask at the same time, and again when the answer is old', async () => {
    const { state, cache } = setUp();
    assert.deepEqual(await Promise.all([cache.get('k'), cache.get('k'), cache.get('k')]), ['a', 'a', 'a']);
    assert.equal(state.asked, 1);
    [state.nowMs, state.answer] = [799, 'b'];
    assert.equal(await cache.get('k'), 'a');
    state.nowMs = 800;
    assert.equal(await cache.get('k'), 'b');
  });

  it('does not keep failures, nor what it was told to forget while asking', async () => {
    const { state, cache } = setUp();
    state.answer = new Error('away');
    await assert.rejects(cache.get('k'), /away/);
    state.answer = 'a';
    const early = cache.get('k');
    cache.clear();
    state.answer = 'b';
    assert.equal(await cache.get('k'), 'b');
    assert.equal(await early, 'a');
    assert.equal(await cache.get('k'), 'b');
  });
});

describe('the recent map', () => {
  it('stays bounded and keeps what is read', () => {
    const map = createLruCache<number>(100);
    map.set('kept', -1);
    for (let n = 0; n < 10_000; n += 1) {
      map.set(`k${n}`, n);
      assert.equal(map.get('kept'), -1);
      assert.ok(map.size <= 200);
    }
    assert.equal(map.get('k9999'), 9999);
    assert.equal(map.get('k0'), undefined);
    map.delete('kept');
    assert.equal(map.get('kept'), undefined);
  });
});
