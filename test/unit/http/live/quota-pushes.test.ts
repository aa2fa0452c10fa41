import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createQuotaPushes } from '../../../../src/http/live/quota-pushes.ts';
import { createLog } from '../../../../src/log.ts';
import { eventually } from '../../../support/eventually.ts';

/** A second in the service. */
const everyMs = 40;

function createPushes({ hasQuotas = true } = {}) {
  const [reads, published]: [number[], number[]] = [[], []];
  const watchers = new Set<() => void>();
  const state = { count: 0, isSettled: true, fails: false, failingWatches: 0 };
  const pushes = createQuotaPushes({
    log: createLog('silent'),
    minIntervalMs: everyMs,
    feed: {
      onStored: async (_surveyId, touched) => {
        if (state.failingWatches-- > 0) throw new Error('away');
        watchers.add(touched);
        return () => watchers.delete(touched);
      },
    },
    read: async () => {
      reads.push(performance.now());
      if (state.fails) throw new Error('away');
      const quotas = [{ id: 'q', count: state.count, limit: 9 }];
      return hasQuotas ? { quotas, isSettled: state.isSettled } : undefined;
    },
    publish: () => void published.push(pushes.latest('s')?.[0]?.count ?? -1),
  });
  const touch = (): void => {
    for (const touched of watchers) touched();
  };
  return { pushes, reads, published, watchers, state, touch };
}

describe('counts of quotas by cell for live connections', () => {
  it('are read at most once an interval, and published when they have changed', async () => {
    // The first read compiles the code: it is noted late, and the gap after it would look too short.
    (await createPushes().pushes.subscribe('s'))();
    const { pushes, reads, published, state, touch } = createPushes();
    const stop = await pushes.subscribe('s');
    assert.deepEqual(pushes.latest('s'), [{ id: 'q', count: 0, limit: 9 }]);
    for (let n = 1; n <= 50; n += 1) {
      state.count = n;
      touch();
    }
    await eventually(() => assert.equal(published.at(-1), 50));
    const gaps = reads.slice(1).map((at, index) => at - (reads[index] ?? 0));
    assert.ok(
      gaps.every((gap) => gap > everyMs / 2),
      JSON.stringify(gaps),
    );
    assert.ok(reads.length <= 4, `${reads.length} reads`);
    stop();
  });

  it('are not read without subscribers', async () => {
    const { pushes, reads, watchers, touch } = createPushes();
    const stops = await Promise.all([pushes.subscribe('s'), pushes.subscribe('s')]);
    for (const stop of stops) stop();
    touch();
    pushes.touch('s');
    assert.equal(watchers.size, 0);
    assert.equal(pushes.latest('s'), undefined);
    assert.equal(reads.length, 1);
  });

  it('are not watched for a survey that has none', async () => {
    const { pushes, watchers, published } = createPushes({ hasQuotas: false });
    const stop = await pushes.subscribe('s');
    assert.equal(watchers.size, 0);
    assert.deepEqual(published, []);
    stop();
  });

  it('are read again while stored responses are being counted, and after failures', async () => {
    const { pushes, reads, published, state } = createPushes();
    state.isSettled = false;
    const stop = await pushes.subscribe('s');
    await eventually(() => assert.ok(reads.length > 2));
    state.fails = true;
    const before = reads.length;
    await eventually(() => assert.ok(reads.length > before));
    Object.assign(state, { fails: false, isSettled: true, count: 7 });
    await eventually(() => assert.equal(published.at(-1), 7));
    stop();
  });

  it('are published although stored rows cannot be watched yet, and watched later', async () => {
    const { pushes, published, watchers, state } = createPushes();
    state.count = 4;
    state.failingWatches = 1;
    const stop = await pushes.subscribe('s');
    await eventually(() => assert.equal(watchers.size, 1));
    assert.deepEqual(published, [4]);
    stop();
  });

  it('are read again after changes may have been missed', async () => {
    const { pushes, published, state } = createPushes();
    const stop = await pushes.subscribe('s');
    await eventually(() => assert.deepEqual(published, [0]));
    state.count = 6;
    pushes.touchAll();
    await eventually(() => assert.equal(published.at(-1), 6));
    stop();
  });
});
