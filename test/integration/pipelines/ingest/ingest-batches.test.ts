import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createLog } from '../../../../src/log.ts';
import { createBatchCheck } from '../../../../src/pipelines/ingest/batch-check.ts';
import type { BatchSink } from '../../../../src/pipelines/ingest/store-batch.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { createResponseStore } from '../../../../src/stores/clickhouse/responses.ts';
import { createIdempotencyRecords, encodeRecord } from '../../../../src/stores/clickhouse/write/idempotency-records.ts';
import type { Stream } from '../../../../src/stores/redis/intake/stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { acceptingSink as taking } from '../../../support/intake.ts';
import { type ResponseDatabase, responseLine } from '../../../support/response-database.ts';
import { sharedStores } from '../../../support/stores.ts';
import { counting, useShardIngest } from '../../../support/use-shard-ingest.ts';

const log = createLog('silent');

describe('the ingest of a shard', () => {
  let database: ResponseDatabase;
  let redis: Redis;
  let stream: Stream;
  const { freshShard, add, start, acknowledged, handedOn, rowsStored, responsesStored, losing } = useShardIngest(
    (opened) => {
      ({ database, redis, stream } = opened);
    },
  );

  it('goes on storing while stored entries cannot be forwarded, keeps them in the stream, and forwards them later in order', async () => {
    const shard = freshShard();
    const { metrics } = counting();
    let isAway = true;
    const heard: string[] = [];
    const memory = { surplusBytes: () => 1_000_000_000, recordFreed: () => undefined };
    const ingest = start(shard, {
      metrics,
      memory,
      sink: taking(),
      forward: async (entries) => {
        if (isAway) throw new Error('PostgreSQL is away');
        heard.push(...entries.map(({ id }) => id));
      },
    });
    try {
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) {
        ids.push(await add(shard, [`["${n}"]`]));
        await acknowledged(shard, ids[n] ?? '');
      }
      assert.deepEqual([heard, await stream.dispatched(shard), await redis.xlen(shard.stream)], [[], '0-0', 5]);
      isAway = false;
      await handedOn(shard, ids[4] ?? '');
      assert.deepEqual(heard, ids);
      await eventually(async () =>
        assert.equal(await redis.xlen(shard.stream), 0, 'what is stored and handed on goes when the room is wanted'),
      );
    } finally {
      await ingest.stop();
    }
  });

  it('reads no entry twice while it forwards what it has stored, and after a start what was not forwarded', async () => {
    const shard = freshShard();
    const { metrics } = counting();
    let isAway = false;
    const [heard, read]: [string[], string[]] = [[], []];
    const startNext = () =>
      start(shard, {
        metrics,
        sink: taking(),
        stream: {
          ...stream,
          readAfter: async (...given) => {
            const entries = await stream.readAfter(...given);
            read.push(...entries.map(({ id }) => id));
            return entries;
          },
        },
        forward: async (entries) => {
          if (isAway) throw new Error('PostgreSQL is away');
          heard.push(...entries.map(({ id }) => id));
        },
      });
    const ids: string[] = [];
    const first = startNext();
    try {
      for (let n = 0; n < 3; n += 1) {
        ids.push(await add(shard, [`["${n}"]`]));
        await handedOn(shard, ids[n] ?? '');
      }
      assert.deepEqual([heard, read], [ids, ids]);
      isAway = true;
      ids.push(await add(shard, ['["3"]']));
      await acknowledged(shard, ids[3] ?? '');
    } finally {
      await first.stop();
    }
    isAway = false;
    const second = startNext();
    try {
      await handedOn(shard, ids[3] ?? '');
    } finally {
      await second.stop();
    }
    assert.deepEqual(heard, ids);
  });

  it('moves a row that ClickHouse cannot read to the dead letters once, and takes it for stored', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const surveyId = newId();
    const poison = responseLine({ surveyId }).replace(',-1,', ',{},');
    const last = await add(shard, [responseLine({ surveyId }), poison, responseLine({ surveyId })]);
    const ingest = start(shard, { metrics, sink: losing(() => false) });
    try {
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
    }
    assert.deepEqual([await rowsStored(surveyId), seen.deadLettered, seen.missing], [2, 1, 0]);
    assert.deepEqual(
      (await stream.listDeadLetters(shard, { count: 5 })).map(({ rows }) => rows.toString()),
      [poison],
    );
  });

  it('halves a batch for which ClickHouse lacks memory', async () => {
    const shard = freshShard();
    const surveyId = newId();
    const rows = 1200;
    const text = 'x'.repeat(10_000);
    const last = await add(
      shard,
      Array.from({ length: rows }, () => responseLine({ surveyId, texts: [text] })),
    );
    const url = new URL((await sharedStores()).clickhouseUrl);
    url.pathname = `/${database.clickhouse.database}`;
    url.searchParams.set('ch_max_memory_usage', '40000000');
    const tight = createClickHouse({ urls: [url.href], log });
    const { insertBatch, storedRows } = createResponseStore({ clickhouse: tight });
    const whole = await insertBatch({
      lines: (await stream.readAfter(shard, '0-0', 1))[0]?.rows ?? Buffer.alloc(0),
      rows,
      codeColumns: 0,
    });
    assert.deepEqual([whole.kind, whole.kind === 'retry' && whole.isTooLarge], ['retry', true], JSON.stringify(whole));
    const { seen, metrics } = counting();
    const stored = new Set<number>();
    const halving: typeof insertBatch = async (batch) => {
      const outcome = await insertBatch(batch);
      if (outcome.kind === 'stored') stored.add(batch.rows);
      return outcome;
    };
    const ingest = start(shard, { metrics, sink: { ...taking(halving), missing: createBatchCheck(storedRows) } });
    try {
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
      await tight.close();
    }
    // A disk that takes ten seconds for a part has it sent again, so rows may stand there twice.
    assert.equal(await responsesStored(surveyId), rows);
    assert.ok(stored.size > 0 && [...stored].every((size) => size < rows), `stored in parts of ${[...stored]}`);
    assert.equal(seen.deadLettered, 0);
  });

  it('stores idempotency records before it acknowledges the rows, each once however often they are sent', async () => {
    const shard = freshShard();
    const { metrics } = counting();
    const surveyId = newId();
    const record = {
      hash: randomBytes(12).toString('hex'),
      version: 1,
      digest: 'abcdefghijkl',
      surveyId,
      submittedAtMs: 1_750_000_000_000,
      outcome: 'COMPLETED' as const,
    };
    const lines = [
      encodeRecord(record),
      encodeRecord({ ...record, version: 2, digest: 'mnopqrstuvwx', outcome: 'PARTIAL' }),
    ];
    const other = { ...record, hash: randomBytes(12).toString('hex') };
    const row = () => responseLine({ surveyId });
    const entry = (...more: string[]) =>
      redis.xadd(shard.stream, '*', 'n', 1, 'codes', 0, 'surveys', surveyId, 'filled', '', 'rows', row(), ...more);
    await entry('records', lines.join('\n'));
    const last = (await entry('records', encodeRecord(other), 'replies', ':7/0123456789ab')) ?? '';
    const records = createIdempotencyRecords(database.clickhouse);
    let attempts = 0;
    const insertRecords: BatchSink['insertRecords'] = async (sent) => {
      await records.insert(sent);
      attempts += 1;
      if (attempts === 1) throw new Error('the reply was lost');
    };
    const ingest = start(shard, { metrics, sink: { ...losing(() => false), insertRecords } });
    try {
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
    }
    assert.ok(attempts >= 2, `${attempts} attempts`);
    assert.deepEqual(await records.find([record.hash, 'f'.repeat(24)]), [
      { ...record, reply: '' },
      { ...record, reply: '', version: 2, digest: 'mnopqrstuvwx', outcome: 'PARTIAL' },
    ]);
    assert.deepEqual(await records.find([other.hash]), [{ ...other, reply: ':7/0123456789ab' }]);
    assert.deepEqual(await records.find([]), []);
  });

  it('splits many rows of wide surveys into several batches', async () => {
    const shard = freshShard();
    const sizes: number[] = [];
    for (let n = 0; n < 10; n += 1)
      await add(
        shard,
        Array.from({ length: 1000 }, () => '[]'),
        1000,
      );
    const last = await add(shard, ['[]'], 3);
    const { metrics } = counting();
    const ingest = start(shard, {
      metrics,
      sink: taking(async ({ rows }) => {
        sizes.push(rows);
        return { kind: 'stored' };
      }),
    });
    try {
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
    }
    assert.equal(
      sizes.reduce((sum, rows) => sum + rows, 0),
      10_001,
    );
    assert.ok(Math.max(...sizes) <= 4000, sizes.join(', '));
  });
});
