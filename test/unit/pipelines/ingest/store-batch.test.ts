import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createLog } from '../../../../src/log.ts';
import { defaultStallMs as stallMs } from '../../../../src/pipelines/ingest/ingest.ts';
import { FencedError, keepLease } from '../../../../src/pipelines/ingest/lease.ts';
import { createStoreBatch } from '../../../../src/pipelines/ingest/store-batch.ts';
import { createStoreRecords } from '../../../../src/pipelines/ingest/store-records.ts';
import { createStoreRows } from '../../../../src/pipelines/ingest/store-rows.ts';
import { insertTimeoutMs, longestAttempt } from '../../../../src/stores/clickhouse/write/insert-timeout.ts';
import { streamEntry } from '../../../support/intake.ts';

const owner = { shard: { index: 0, prefix: 'p', stream: 's' }, name: 'one', fence: 1 };
const [leaseMs, renewMs] = [10_000, 3000];
const rows = Buffer.from('["018f0000-0000-7000-8000-000000000001","018f0000-0000-7000-8000-000000000002",1,1,0]');
const entry = streamEntry('1-0', { rows, records: Buffer.from('["record"]') });

/**
 * A ClickHouse that answers at once whether rows are there, and needs so long for inserts. `isGivenUp`: it stores no rows
 * for which the client does not wait.
 */
function slowClickHouse(test: TestContext, needs: { rowsMs: number; recordsMs?: number; isGivenUp?: boolean }) {
  let clockMs = 0;
  let storedAtMs = Number.POSITIVE_INFINITY;
  let inserts = 0;
  test.mock.method(performance, 'now', () => clockMs);
  test.mock.timers.enable({ apis: ['setInterval'] });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      clockMs += 500;
      test.mock.timers.tick(500);
      // A renewal that is due has its reply before time goes on.
      await setImmediate();
    }
  };
  /** Waits for the insert, or as long as this attempt may take; whether it was done by then. */
  const insert = async (needsMs: number, attempt: number): Promise<boolean> => {
    const limitMs = insertTimeoutMs(attempt);
    await pass(Math.min(needsMs, limitMs));
    return needsMs <= limitMs;
  };
  const missing = async (lines: Buffer) => (clockMs >= storedAtMs ? undefined : { lines, rows: 1 });
  const sink = {
    insertRecords: async (_lines: Buffer, { attempt }: { attempt: number }) => {
      if (!(await insert(needs.recordsMs ?? 0, attempt))) throw new Error('no answer');
    },
    insertBatch: async ({ attempt }: { attempt: number }) => {
      inserts += 1;
      if (!needs.isGivenUp || needs.rowsMs <= insertTimeoutMs(attempt))
        storedAtMs = Math.min(storedAtMs, clockMs + needs.rowsMs);
      const isDone = await insert(needs.rowsMs, attempt);
      return isDone
        ? ({ kind: 'stored' } as const)
        : ({ kind: 'retry', reason: 'no answer', isTimeout: true } as const);
    },
    missing,
  };
  const common = { sink, log: createLog('silent'), sleep: pass, abortSignal: new AbortController().signal };
  const metrics = {
    inserted: () => undefined,
    insertRetried: () => undefined,
    deadLettered: () => undefined,
    rowsMissing: () => assert.fail('nothing was lost'),
  };
  const storeRows = createStoreRows({ ...common, metrics, stream: { addDeadLetter: async () => true } });
  const storeBatch = createStoreBatch({
    ...common,
    metrics,
    storeRows,
    storeRecords: createStoreRecords({ ...common, metrics }),
  });
  return {
    inserts: () => inserts,
    clockMs: () => clockMs,
    /** Under a lease that ends in Redis where it is not renewed in time, so that the shard gets another fence. */
    async store(wasBegun = false): Promise<void> {
      let [endsAtMs, fence] = [clockMs + leaseMs, owner.fence];
      const renew = async () => {
        if (clockMs > endsAtMs) fence += 1;
        endsAtMs = clockMs + leaseMs;
        return { ...owner, fence };
      };
      const lease = keepLease({ stream: { lease: renew }, owner, requestedAtMs: clockMs, leaseMs, renewMs, stallMs });
      const firstAttempt = wasBegun ? longestAttempt : 0;
      await storeBatch({ owner, lease, entries: [entry], wasBegun, firstAttempt }).finally(() => lease.stop());
      lease.assertHeld();
    },
  };
}

describe('a batch', () => {
  it('is stored under one lease by a ClickHouse that answers, and needs up to 35 seconds for the insert', async (test) => {
    for (const rowsMs of [18_000, 25_000, 35_000]) {
      const clickhouse = slowClickHouse(test, { rowsMs });
      await clickhouse.store();
      assert.ok(clickhouse.inserts() <= 3, `${rowsMs} ms: ${clickhouse.inserts()} inserts`);
      test.mock.reset();
    }
  });

  it('is stored if its idempotency records need as long', async (test) => {
    for (const recordsMs of [16_000, 25_000, 35_000]) {
      await slowClickHouse(test, { rowsMs: 1000, recordsMs }).store();
      test.mock.reset();
    }
  });

  it('is stored under the second lease if any insert needs up to the longest time', async (test) => {
    for (const needs of [39_500, 41_000, 59_000].flatMap((ms) => [
      { rowsMs: 1000, recordsMs: ms },
      { rowsMs: ms },
      { rowsMs: ms, isGivenUp: true },
    ])) {
      const clickhouse = slowClickHouse(test, needs);
      await clickhouse.store().catch((error: unknown) => {
        assert.ok(error instanceof FencedError);
        return clickhouse.store(true);
      });
      test.mock.reset();
    }
  });

  it('is left to another process where no insert ever ends, although ClickHouse answers', async (test) => {
    const clickhouse = slowClickHouse(test, { rowsMs: Number.POSITIVE_INFINITY });
    await assert.rejects(clickhouse.store(), FencedError);
    assert.ok(clickhouse.clockMs() <= 150_000, `${clickhouse.clockMs()} ms`);
  });

  it('that was interrupted is not inserted again where its rows are there', async (test) => {
    const clickhouse = slowClickHouse(test, { rowsMs: 2000 });
    await clickhouse.store();
    await clickhouse.store(true);
    assert.equal(clickhouse.inserts(), 1);
  });
});
