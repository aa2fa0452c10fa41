import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createLog } from '../../../../src/log.ts';
import { keepLease } from '../../../../src/pipelines/ingest/lease.ts';
import { createStoreRows } from '../../../../src/pipelines/ingest/store-rows.ts';

const owner = { shard: { index: 0, prefix: 'p', stream: 's' }, name: 'one', fence: 1 };
const insertMs = 1000;
const [leaseMs, renewMs, stallMs] = [10_000, 3000, 30_000];

describe('the rows of a batch', () => {
  it('are moved to the dead letters under one lease, however many of them ClickHouse cannot read', async (test) => {
    let clockMs = 0;
    test.mock.method(performance, 'now', () => clockMs);
    test.mock.timers.enable({ apis: ['setInterval'] });
    const buried: string[] = [];
    const storeRows = createStoreRows({
      sink: {
        insertBatch: async () => {
          clockMs += insertMs;
          test.mock.timers.tick(insertMs);
          // A renewal that is due has its reply before the next insert.
          await setImmediate();
          return { kind: 'refused', reason: 'cannot be read' };
        },
        missing: async () => assert.fail('no insert took too long'),
      },
      stream: {
        addDeadLetter: async (_lease, _reason, rows) => {
          buried.push(rows.toString());
          return true;
        },
      },
      log: createLog('silent'),
      metrics: { inserted: () => undefined, insertRetried: () => undefined, deadLettered: () => undefined },
      sleep: async () => undefined,
      abortSignal: new AbortController().signal,
    });
    const lease = keepLease({
      stream: { lease: async () => owner },
      owner,
      requestedAtMs: clockMs,
      leaseMs,
      renewMs,
      stallMs,
    });
    const rows = Array.from({ length: 64 }, (_, n) => `["${n}"]`);
    const stored = storeRows({ owner, lease, codeColumns: 0, lines: Buffer.from(rows.join('\n')), rows: rows.length });
    assert.deepEqual([...(await stored.finally(() => lease.stop()))], rows);
    assert.deepEqual(buried, rows);
    assert.ok(clockMs > 2 * stallMs, `${clockMs} ms`);
  });
});
