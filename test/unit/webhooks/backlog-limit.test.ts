import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBacklogLimit } from '../../../src/webhooks/backlog-limit.ts';

describe('the backlog limit of an endpoint', () => {
  const setUp = () => {
    const state = { nowMs: 0, waiting: 0, counts: 0 };
    const limit = createBacklogLimit({
      monotonicMs: () => state.nowMs,
      countPending: async (ids) => {
        state.counts += 1;
        return new Map(ids.map((id) => [id, state.waiting]));
      },
    });
    return {
      state,
      take: async (wanted: number, maxWaiting = 100_000) =>
        (await limit.reserve([{ webhookId: 'a', wanted, maxWaiting }])).get('a'),
    };
  };

  it('counts now and then, and takes deliveries added since for waiting', async () => {
    const { state, take } = setUp();
    assert.deepEqual([await take(60_000), await take(60_000), await take(1)], [60_000, 40_000, 0]);
    assert.equal(state.counts, 1, 'a long backlog is not counted for every batch');
    state.nowMs += 1001;
    assert.equal(await take(10), 10, 'all were sent in the meantime');
    assert.equal(state.counts, 2);
    state.nowMs += 5001;
    state.waiting = 99_999;
    assert.equal(await take(5), 1);
  });

  it('counts a short backlog whenever a request does not fit', async () => {
    const { state, take } = setUp();
    for (let n = 0; n < 5; n += 1) assert.equal(await take(100, 100), 100);
    state.waiting = 100;
    assert.equal(await take(1, 100), 0);
  });
});
