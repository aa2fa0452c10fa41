import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRetention, retentionMs } from '../../../../src/pipelines/ingest/retention.ts';

const shard = { index: 0, prefix: 'p', stream: 's' };
const startMs = 1_800_000_000_000;

/** A stream of batches of so many bytes, one a second, and an intake that wants some of them back. */
function stored(batches: number, bytes: number, { joinBytes = 0 } = {}) {
  const trimmed: string[] = [];
  let surplus = 0;
  const memory = {
    surplusBytes: () => surplus,
    recordFreed: (freed: number) => {
      surplus -= freed;
    },
  };
  const stream = { trim: async (_: unknown, from: string) => void trimmed.push(from) };
  const retention = createRetention({ stream, shard, memory, joinBytes });
  for (let second = 0; second < batches; second += 1)
    retention.add([{ id: `${startMs + second * 1000}-0`, rows: Buffer.alloc(bytes - 200) }]);
  return {
    retention,
    trimmed,
    want: (wanted: number) => {
      surplus = wanted;
    },
    surplus: () => surplus,
  };
}

describe('the retention of stored entries', () => {
  it('keeps entries for ten minutes while there is room', async () => {
    const { retention, trimmed } = stored(10, 1000);
    await retention.trim(startMs + 5000);
    assert.deepEqual(trimmed, [`${startMs + 5000 - retentionMs}-0`]);
    await retention.trim(startMs + 6000);
    assert.equal(trimmed.length, 1, 'time alone trims every few seconds');
  });

  it('frees the requested memory at once, oldest entries first', async () => {
    const { retention, trimmed, want, surplus } = stored(10, 1000);
    want(2500);
    await retention.trim(startMs + 10_000);
    assert.deepEqual([trimmed, surplus()], [[`${startMs + 3000}-0`], -500]);
    await retention.trim(startMs + 10_100);
    assert.equal(trimmed.length, 1, 'what was given back is not asked for again');
  });

  it('frees small batches that follow each other together, so that a day of them fits into memory', async () => {
    const { retention, trimmed, want, surplus } = stored(9, 1000, { joinBytes: 4000 });
    want(1);
    await retention.trim(startMs + 10_000);
    assert.deepEqual([trimmed, surplus()], [[`${startMs + 4000}-0`], 1 - 4000]);
    want(4001);
    await retention.trim(startMs + 10_000);
    assert.ok(Number(trimmed[1]?.split('-')[0]) > startMs + 365 * 86_400_000);
    assert.equal(surplus(), 4001 - 5000);
  });

  it('frees everything if that is not enough, also entries that another process stored', async () => {
    const { retention, trimmed, want } = stored(3, 1000);
    want(1_000_000);
    await retention.trim(startMs);
    assert.equal(trimmed.length, 1);
    assert.ok(Number(trimmed[0]?.split('-')[0]) > startMs + 365 * 86_400_000);
  });

  it('frees the oldest first of what had waited for longer than ten minutes before it was stored', async () => {
    const { retention, trimmed, want } = stored(10, 1000);
    await retention.trim(startMs + 2 * retentionMs);
    want(2500);
    await retention.trim(startMs + 2 * retentionMs);
    assert.equal(trimmed[1], `${startMs + 3000}-0`);
  });

  it('keeps what was stored before the last check that has seen all, but not for more than a day', async () => {
    const { retention, trimmed } = stored(10, 1000);
    await retention.trim(startMs, Number.POSITIVE_INFINITY);
    assert.deepEqual(trimmed, [`${startMs - 86_400_000}-0`]);
    const other = stored(10, 1000);
    await other.retention.trim(startMs, 60_000.5);
    assert.deepEqual(other.trimmed, [`${startMs - retentionMs - 60_001}-0`]);
  });
});
