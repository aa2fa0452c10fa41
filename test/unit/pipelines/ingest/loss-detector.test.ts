import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { batchKeysOf } from '../../../../src/pipelines/ingest/batch-check.ts';
import { createIngest } from '../../../../src/pipelines/ingest/ingest.ts';
import { createLossDetector } from '../../../../src/pipelines/ingest/loss-detector.ts';
import type { BatchSink } from '../../../../src/pipelines/ingest/store-batch.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { StoredRows } from '../../../../src/stores/clickhouse/read/stored-rows.ts';
import type { Stream } from '../../../../src/stores/redis/intake/stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { noMemoryPressure, streamEntry } from '../../../support/intake.ts';
import { responseLine } from '../../../support/response-database.ts';
import { counting } from '../../../support/use-shard-ingest.ts';

/** Longer ago than sums are kept, and within the retention window. */
const storedAtMs = Date.now() - 5 * 60_000;
const surveyId = newId();
const linesOf = (count: number) => Array.from({ length: count }, () => responseLine({ surveyId }));

/**
 * The ingest of a shard whose entries are acknowledged already, each a batch of its own, and a ClickHouse that holds
 * `stored`.
 */
function startedAfter(
  entries: readonly string[][],
  sink: Pick<BatchSink, 'insertBatch' | 'missing'> & Partial<BatchSink>,
  records = '',
) {
  const retained = entries.map((lines, n) =>
    streamEntry(`${storedAtMs + n}-0`, {
      count: lines.length,
      codeColumns: 4_000_000,
      rows: Buffer.from(lines.join('\n')),
      records: Buffer.from(records),
    }),
  );
  const last = retained.at(-1)?.id ?? '0-0';
  const deadLetters: string[] = [];
  const stream: Partial<Stream> = {
    lease: async (shard, name) => ({ shard, name, fence: 1 }),
    acknowledged: async () => last,
    acknowledgedBefore: async () => '0-0',
    dispatched: async () => last,
    release: async () => true,
    trim: async () => undefined,
    addDeadLetter: async (_, __, rows) => deadLetters.push(String(rows)) > 0,
    async *findDeadLetters() {
      for (const rows of deadLetters) yield { id: '1-0', reason: '', rows: Buffer.from(rows), isKnown: true };
    },
    readAfter: async (_, after, count) =>
      retained.filter(({ id }) => Number(id.split('-')[0]) > Number(after.split('-')[0])).slice(0, count),
    stats: async () => ({ length: 0, lag: 0, oldest: undefined, unforwarded: undefined }),
    countDeadLetters: async () => 0,
  };
  const storedRows: StoredRows = {
    startedAtMs: async () => (records === '' ? 1 : Date.now()),
    firstVersions: async () => new Map(),
    firstVersionsByBucket: async () => new Map(),
    missing: async () => [],
  };
  const { seen, metrics } = counting();
  const ingest = createIngest({
    stream: stream as Stream,
    shards: [{ index: 0, prefix: 'p', stream: 's' }],
    sink: { insertRecords: async () => undefined, ...sink },
    forward: async () => undefined,
    onStored: () => undefined,
    memory: noMemoryPressure,
    storedRows,
    isDeleted: async () => false,
    lossCheckMs: 1,
    name: 'one',
    now: Date.now,
    log: createLog('silent'),
    metrics,
  });
  ingest.start();
  return { ingest, seen, deadLetters };
}

/** A ClickHouse that has lost all, and takes rows again when it `hasRoom`; it cannot read some. */
function emptyStore(isUnreadable: (line: string) => boolean = () => false) {
  const stored = new Set<string>();
  const state = { hasRoom: false, attempts: 0, stored };
  const sink: Pick<BatchSink, 'insertBatch' | 'missing'> = {
    insertBatch: async ({ lines }) => {
      state.attempts += 1;
      if (!state.hasRoom) return { kind: 'retry', reason: 'NOT_ENOUGH_SPACE' };
      const inserted = String(lines).split('\n');
      if (inserted.some(isUnreadable)) return { kind: 'refused', reason: 'CANNOT_PARSE_INPUT' };
      for (const line of inserted) stored.add(line);
      return { kind: 'stored' };
    },
    missing: async (lines) => {
      const absent = String(lines)
        .split('\n')
        .filter((line) => !stored.has(line));
      return absent.length === 0 ? undefined : { lines: Buffer.from(absent.join('\n')), rows: absent.length };
    },
  };
  return { state, sink };
}

describe('the check of the rows that the stream still keeps', () => {
  it('goes on until lost rows are stored again, although ClickHouse took none at first', async () => {
    const { state, sink } = emptyStore();
    const lines = linesOf(3);
    const { ingest, seen } = startedAfter([lines], sink);
    try {
      await eventually(() => assert.ok(state.attempts >= 3));
      assert.equal(seen.rechecked, 0);
      state.hasRoom = true;
      await eventually(() => assert.deepEqual([...state.stored], lines));
      await eventually(() => assert.ok(seen.rechecked > 0));
    } finally {
      await ingest.stop();
    }
  });

  it('stores the other rows of a batch of which ClickHouse cannot read one, and keeps that one', async () => {
    const lines = linesOf(5);
    const { state, sink } = emptyStore((line) => line === lines[2]);
    state.hasRoom = true;
    const { ingest, seen, deadLetters } = startedAfter([lines], sink);
    try {
      await eventually(() => assert.ok(seen.rechecked > 0));
      assert.deepEqual([...state.stored].sort(), lines.filter((line) => line !== lines[2]).sort());
      assert.deepEqual(deadLetters, [lines[2]]);
    } finally {
      await ingest.stop();
    }
  });

  it('stores lost rows again while idempotency records cannot be stored, and those once they can', async () => {
    const { state, sink } = emptyStore();
    state.hasRoom = true;
    const batches = [linesOf(2), linesOf(2)];
    const attempts: number[] = [];
    let [takesRecords, stored] = [false, 0];
    const insertRecords: BatchSink['insertRecords'] = async (_lines, { attempt }) => {
      attempts.push(attempt);
      if (!takesRecords) throw new Error('no answer');
      stored += 1;
    };
    const { ingest, seen } = startedAfter(batches, { ...sink, insertRecords }, '["record"]');
    try {
      await eventually(() => assert.deepEqual([...state.stored], batches.flat()));
      // Each attempt may take longer than the one before.
      await eventually(() => assert.deepEqual(attempts.slice(0, 3), [0, 1, 2]));
      assert.equal(seen.rechecked, 0);
      takesRecords = true;
      await eventually(() => assert.ok(seen.rechecked > 0));
      assert.ok(stored >= batches.length);
    } finally {
      await ingest.stop();
    }
  });

  it('stores idempotency records again although the rows of a batch cannot be looked at', async () => {
    const { sink } = emptyStore();
    let stored = 0;
    const missing = async () => Promise.reject(new Error('a part cannot be read'));
    const insertRecords = async () => {
      stored += 1;
    };
    const { ingest, seen } = startedAfter([linesOf(2), linesOf(2)], { ...sink, missing, insertRecords }, '["record"]');
    try {
      await eventually(() => assert.ok(stored >= 2));
      assert.equal(seen.rechecked, 0);
    } finally {
      await ingest.stop();
    }
  });

  it('ends at a stop with the batch that is looked at', async () => {
    let looked = 0;
    let answer = () => {};
    const answered = new Promise<undefined>((resolve) => {
      answer = () => resolve(undefined);
    });
    const { ingest, seen } = startedAfter(
      Array.from({ length: 60 }, () => linesOf(1)),
      {
        insertBatch: async () => ({ kind: 'stored' }),
        missing: async () => {
          looked += 1;
          return answered;
        },
      },
    );
    await eventually(() => assert.equal(looked, 1));
    const stopped = ingest.stop();
    answer();
    await stopped;
    assert.deepEqual([looked, seen.rechecked], [1, 0]);
  });
});

describe('rows that ClickHouse lacks when the stream no longer keeps them', () => {
  const owner = { shard: { index: 0, prefix: 'p', stream: 's' }, name: 'one', fence: 1 };
  const lease = { assertHeld: () => undefined, reportProgress: () => undefined, stop: async () => undefined };
  const submittedAtMs = Math.floor(Date.now() / 10_000) * 10_000 - 60_000;

  /**
   * A check of two rows and a later version of a survey in the entry `5-0`, which is trimmed unless `isKept`, while
   * ClickHouse holds so many first versions of the same ten seconds. `isInLaterEntry`: the stream still keeps an entry
   * with what is missing.
   */
  function checking({
    held,
    isKept = false,
    isDeleted = false,
    isInLaterEntry = false,
  }: {
    held: number;
    isKept?: boolean;
    isDeleted?: boolean;
    isInLaterEntry?: boolean;
  }) {
    const { seen, metrics } = counting();
    const errors: unknown[] = [];
    const lines = [1, 1, 2].map((version) => responseLine({ surveyId, submittedAtMs, version }));
    const keys = batchKeysOf(Buffer.from(lines.join('\n')));
    const all = keys.firstVersionSums.get(surveyId)?.get(submittedAtMs);
    let isStored = held > 2;
    let sum = { rows: held, idSum: 7 };
    const detector = createLossDetector({
      stream: { acknowledgedBefore: async () => '0-0', hasEntryUpTo: async () => isKept, readAfter: async () => [] },
      storedRows: {
        startedAtMs: async () => 1,
        firstVersions: async () => new Map(),
        firstVersionsByBucket: async () => new Map([[`${surveyId} ${submittedAtMs / 10_000}`, sum]]),
        missing: async (some) => (isStored ? [] : [...some]),
      },
      retainedRowsCheck: {
        async *missing() {
          if (isInLaterEntry && !isStored)
            yield {
              seen: 2,
              missing: { lines: Buffer.from(lines.slice(1).join('\n')), rows: 2, codeColumns: 0 },
            };
        },
      },
      storeRows: async () => {
        isStored = true;
        sum = all ?? sum;
        return new Set();
      },
      storeRecords: async () => assert.fail('there are no records'),
      isDeleted: async () => isDeleted,
      isEnded: () => false,
      now: Date.now,
      log: Object.assign(createLog('silent'), { error: (fields: unknown) => errors.push(fields) }),
      metrics,
    });
    detector.add(keys, [streamEntry('5-0')]);
    return { seen, errors, run: () => detector.run(owner, lease, '9-0') };
  }

  it('are an error with their survey and time, once, and that check has not seen all', async () => {
    const { seen, errors, run } = checking({ held: 1 });
    await run();
    assert.deepEqual(errors, [
      {
        shard: 0,
        surveyIds: [surveyId],
        surveys: 1,
        rowsAtMost: 3,
        from: new Date(submittedAtMs).toISOString(),
        to: new Date(submittedAtMs + 10_000).toISOString(),
      },
    ]);
    assert.equal(seen.rechecked, 0);
    await run();
    await run();
    assert.deepEqual([errors.length, seen.rechecked], [1, 2]);
  });

  it('are none of a deleted survey, nor of entries that were read, nor where ClickHouse holds more', async () => {
    for (const scene of [{ held: 1, isDeleted: true }, { held: 1, isKept: true }, { held: 3 }]) {
      const { seen, errors, run } = checking(scene);
      await run();
      assert.deepEqual([errors, seen.rechecked], [[], 1], JSON.stringify(scene));
    }
  });

  it('are none that were stored again from later entries', async () => {
    const { seen, errors, run } = checking({ held: 1, isInLaterEntry: true });
    await run();
    assert.deepEqual([errors, seen.missing, seen.rechecked], [[{ rows: 2, shard: 0 }], 2, 0]);
    await run();
    assert.deepEqual([errors.length, seen.rechecked], [1, 1]);
  });
});
