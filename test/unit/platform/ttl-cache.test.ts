import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTtlCache } from '../../../src/platform/ttl-cache.ts';

describe('TTL cache', () => {
  const setUp = () => {
    const state = { nowMs: 0, asked: 0, answer: 'a' as string | Error };
    const load = async () => {
      state.asked += 1;
      if (state.answer instanceof Error) throw state.answer;
      return state.answer;
    };
    return { state, cache: createTtlCache({ ttlMs: 800, capacity: 10, load, monotonicMs: () => state.nowMs }) };
  };

  it('loads once for concurrent callers, and again when the value is too old', async () => {
    const { state, cache } = setUp();
    assert.deepEqual(await Promise.all([cache.get('k'), cache.get('k'), cache.get('k')]), ['a', 'a', 'a']);
    assert.equal(state.asked, 1);
    [state.nowMs, state.answer] = [799, 'b'];
    assert.equal(await cache.get('k'), 'a');
    state.nowMs = 800;
    assert.equal(await cache.get('k'), 'b');
  });

  it('keeps neither failed loads nor values that were cleared while they loaded', async () => {
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
