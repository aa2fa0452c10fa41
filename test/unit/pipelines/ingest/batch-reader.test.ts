import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBatchReader } from '../../../../src/pipelines/ingest/batch-reader.ts';
import type { StreamEntry } from '../../../../src/stores/redis/intake/stream.ts';
import { streamEntry } from '../../../support/intake.ts';

const shard = { index: 0, stream: 's', prefix: 'p' };
const mega = 1024 * 1024;
const content = Buffer.alloc(4 * mega, 120);

/** A stream whose replies come in time only up to so many bytes. */
function streamOf(sizes: readonly number[], bytesInTime = Infinity) {
  const entries: StreamEntry[] = sizes.map((bytes, n) =>
    streamEntry(`${n + 1}-0`, { codeColumns: 1, rows: content.subarray(0, bytes) }),
  );
  const reads: number[] = [];
  const reply = async (found: StreamEntry[]): Promise<StreamEntry[]> => {
    const bytes = found.reduce((sum, entry) => sum + entry.rows.length, 0);
    reads.push(bytes);
    if (bytes > bytesInTime) throw new Error('Command timed out');
    return found;
  };
  const placeOf = ({ id }: Pick<StreamEntry, 'id'>) => Number.parseInt(id, 10);
  /** Those with places from the one to the other. */
  const between = (first: number, last: number) =>
    entries.filter((entry) => placeOf(entry) >= first && placeOf(entry) <= last);
  return {
    entries,
    reads,
    readAfter: (_: unknown, id: string, count: number) => reply(between(placeOf({ id }) + 1, Infinity).slice(0, count)),
  };
}

/** Every batch until the end; a read that fails is tried again, as the ingest does. */
async function readAll(stream: ReturnType<typeof streamOf>) {
  const reader = createBatchReader(stream, shard);
  const batches: StreamEntry[][] = [];
  let [after, failures] = ['0-0', 0];
  for (;;) {
    try {
      const { entries } = await reader.next(after);
      if (entries.length === 0) return { batches, failures };
      batches.push(entries);
      after = entries.at(-1)?.id ?? after;
    } catch (error) {
      failures += 1;
      if (failures > 20) throw error;
    }
  }
}

describe('reading batches of a stream', () => {
  it('reads through a backlog of large entries, however few arrive in time', async () => {
    for (const bytesInTime of [4 * mega, 9 * mega]) {
      const stream = streamOf(
        [...Array.from({ length: 300 }, () => 1000), ...Array.from({ length: 20 }, () => 4 * mega)],
        bytesInTime,
      );
      const { batches, failures } = await readAll(stream);
      assert.deepEqual(
        batches.flat().map(({ id }) => id),
        stream.entries.map(({ id }) => id),
      );
      assert.ok(failures <= 10, `${failures} reads failed`);
    }
  });

  it('reads a few large entries at once, or many small ones', async () => {
    const large = streamOf(Array.from({ length: 40 }, () => mega));
    await readAll(large);
    assert.ok(Math.max(...large.reads) <= 4 * mega, large.reads.join(', '));
    const small = streamOf(Array.from({ length: 2000 }, () => 300));
    await readAll(small);
    assert.ok(small.reads.length < 20, `${small.reads.length} reads of 2000 entries`);
  });

  it('reads no further than the given id', async () => {
    const stream = streamOf(Array.from({ length: 30 }, () => 100));
    const reader = createBatchReader(stream, shard);
    const idsUpTo = async (after: string, until: string) =>
      (await reader.next(after, until)).entries.map(({ id }) => id);
    assert.deepEqual(await idsUpTo('0-0', '3-0'), ['1-0', '2-0', '3-0']);
    assert.deepEqual(
      await idsUpTo('3-0', '17-0'),
      stream.entries.slice(3, 17).map(({ id }) => id),
    );
    assert.deepEqual(await idsUpTo('17-0', '17-0'), []);
  });
});
