import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FencedError, keepLease } from '../../../../src/pipelines/ingest/lease.ts';

it('a lease ends as long after it was asked for as it lasts, however late the reply came', async (test) => {
  let clockMs = 0;
  test.mock.method(performance, 'now', () => clockMs);
  const owner = { shard: { index: 0, prefix: 'p', stream: 's' }, name: 'one', fence: 1 };
  const requestedAtMs = clockMs;
  clockMs = 6000;
  const stream = { lease: async () => owner };
  const lease = keepLease({ stream, owner, requestedAtMs, leaseMs: 10_000, renewMs: 3000, stallMs: 30_000 });
  clockMs = 9000;
  lease.assertHeld();
  clockMs = 10_500;
  assert.throws(() => lease.assertHeld(), FencedError);
  await lease.stop();
});
