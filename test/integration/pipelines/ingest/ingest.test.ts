import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { createLog } from '../../../../src/log.ts';
import { createBatchCheck } from '../../../../src/pipelines/ingest/batch-check.ts';
import { createIngest, type IngestDeps } from '../../../../src/pipelines/ingest/ingest.ts';
import type { BatchSink } from '../../../../src/pipelines/ingest/store-batch.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { createResponseStore } from '../../../../src/stores/clickhouse/responses.ts';
import { createIdempotencyRecords, encodeRecord } from '../../../../src/stores/clickhouse/write/idempotency-records.ts';
import { createSharedRedis } from '../../../../src/stores/redis/clients.ts';
import type { Shard } from '../../../../src/stores/redis/intake/shards.ts';
import { createStream, type Stream } from '../../../../src/stores/redis/intake/stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { noMemoryPressure, acceptingSink as taking } from '../../../support/intake.ts';
import { openResponseDatabase, type ResponseDatabase, responseLine } from '../../../support/response-database.ts';
import { sharedStores } from '../../../support/stores.ts';

const log = createLog('silent');

/** What was inserted, and how often it went wrong. */
function counting() {
  const seen = { inserted: 0, insertRetried: 0, deadLettered: 0, ingestFenced: 0, missing: 0, rechecked: 0 };
  return {
    seen,
    metrics: {
      inserted: (rows: number) => {
        seen.inserted += rows;
      },
      insertRetried: () => {
        seen.insertRetried += 1;
      },
      deadLettered: () => {
        seen.deadLettered += 1;
      },
      ingestFenced: () => {
        seen.ingestFenced += 1;
      },
      rowsMissing: (rows: number) => {
        seen.missing += rows;
      },
      rechecked: () => {
        seen.rechecked += 1;
      },
      shardState: () => undefined,
    },
  };
}

describe('the ingest of a shard', () => {
  let database: ResponseDatabase;
  let redis: Redis;
  let stream: Stream;
  const prefixes: string[] = [];
  before(async () => {
    database = await openResponseDatabase();
    redis = createSharedRedis(new URL('/9', (await sharedStores()).redisUrl).href, log);
    await redis.connect();
    stream = createStream(redis);
  });
  after(async () => {
    for (const prefix of prefixes) {
      const keys = await redis.keys(`${prefix}*`);
      if (keys.length > 0) await redis.del(keys);
    }
    await redis.quit();
    await database.close();
  });

  function freshShard(): Shard {
    const prefix = `{ingest-${randomBytes(4).toString('hex')}}:`;
    prefixes.push(prefix);
    return { index: 0, prefix, stream: `${prefix}stream` };
  }

  const add = async (shard: Shard, lines: readonly string[], codes = 0): Promise<string> =>
    (await redis.xadd(
      shard.stream,
      '*',
      'n',
      lines.length,
      'codes',
      codes,
      'surveys',
      newId(),
      'filled',
      '',
      'rows',
      lines.join('\n'),
    )) ?? '';

  const start = (shard: Shard, deps: Partial<IngestDeps> & Pick<IngestDeps, 'sink' | 'metrics'>) => {
    const ingest = createIngest({
      stream,
      shards: [shard],
      forward: async () => undefined,
      onStored: () => undefined,
      memory: noMemoryPressure,
      storedRows: undefined,
      isDeleted: async () => false,
      name: newId(),
      now: Date.now,
      log,
      ...deps,
    });
    ingest.start();
    return ingest;
  };

  const acknowledged = (shard: Shard, id: string) =>
    eventually(async () => assert.equal(await stream.acknowledged(shard), id), 60_000);
  const handedOn = (shard: Shard, id: string) =>
    eventually(async () => assert.equal(await stream.dispatched(shard), id), 60_000);

  /** Without FINAL: a row that was sent twice stands there twice. */
  async function rowsStored(surveyId: string): Promise<number> {
    const [row] = await database.clickhouse.select<[number]>(
      `SELECT count() FROM ${database.clickhouse.table('responses')} WHERE survey_id = '${surveyId}'`,
    );
    return row?.[0] ?? 0;
  }

  /** The real store; `lose` says which inserts it answers without having stored anything. */
  const losing = (lose: (attempt: number) => boolean): BatchSink & { attempts(): number } => {
    let attempts = 0;
    return {
      insertBatch: async (batch) => (lose(++attempts) ? { kind: 'stored' } : database.responses.insertBatch(batch)),
      insertRecords: createIdempotencyRecords(database.clickhouse).insert,
      missing: createBatchCheck(database.responses.storedRows),
      attempts: () => attempts,
    };
  };

  it('keeps the shard while storing or forwarding a batch takes longer than a lease', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const steps: string[] = [];
    const slow = async (step: string) => {
      steps.push(step);
      await sleep(3000);
    };
    const last = await add(shard, ['["row"]']);
    const ingest = start(shard, {
      metrics,
      leaseMs: 1500,
      forward: () => slow('handed on'),
      sink: taking(async () => {
        await slow('stored');
        return { kind: 'stored' };
      }),
    });
    try {
      await acknowledged(shard, last);
      await handedOn(shard, last);
    } finally {
      await ingest.stop();
    }
    assert.deepEqual([steps, seen.ingestFenced], [['stored', 'handed on'], 0]);
    assert.equal(await redis.exists(`${shard.prefix}owner`), 0, 'a shard that is given up is free at once');
  });

  it('releases the shard at once when it stops, even in the middle of a batch that ClickHouse refuses', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const last = await add(shard, ['["row"]']);
    const leaving = start(shard, { metrics, sink: taking(async () => ({ kind: 'retry', reason: 'away' })) });
    await eventually(() => assert.ok(seen.insertRetried > 0));
    await leaving.stop();
    assert.equal(await redis.exists(`${shard.prefix}owner`), 0);
    const next = start(shard, { metrics, sink: taking() });
    try {
      await acknowledged(shard, last);
    } finally {
      await next.stop();
    }
  });

  it('leaves the shard to another process when it makes no progress', async () => {
    const shard = freshShard();
    const { metrics } = counting();
    const last = await add(shard, ['["row"]']);
    const stuck = start(shard, {
      metrics,
      leaseMs: 400,
      stallMs: 600,
      sink: taking(async () => ({ kind: 'retry', reason: 'away' })),
    });
    const able = start(shard, { metrics, leaseMs: 400, sink: taking() });
    try {
      await acknowledged(shard, last);
    } finally {
      await Promise.all([stuck.stop(), able.stop()]);
    }
  });

  it('writes nothing for a shard that another process owns, however long its last step took', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    await add(shard, ['["row"]']);
    let isLate = false;
    const ingest = start(shard, {
      metrics,
      leaseMs: 400,
      sink: taking(async () => {
        await redis.hset(`${shard.prefix}owner`, 'name', 'another', 'fence', 999);
        await redis.persist(`${shard.prefix}owner`);
        await sleep(600);
        isLate = true;
        return { kind: 'stored' };
      }),
    });
    await eventually(() => assert.deepEqual([isLate, seen.ingestFenced], [true, 1]));
    await ingest.stop();
    assert.equal(await stream.acknowledged(shard), '0-0');
  });

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

  it('stores again the rows that ClickHouse confirmed but does not hold, and nothing else', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const [surveyId, other] = [newId(), newId()];
    const first = await add(
      shard,
      Array.from({ length: 20 }, (_, n) => responseLine({ surveyId, submittedAtMs: Date.now() + n })),
    );
    const sink = losing((attempt) => attempt === 2);
    const ingest = start(shard, { metrics, sink });
    try {
      await acknowledged(shard, first);
      assert.deepEqual([await rowsStored(surveyId), seen.missing], [20, 0]);
      const lost = await add(shard, [
        ...Array.from({ length: 7 }, () => responseLine({ surveyId })),
        responseLine({ surveyId: other }),
      ]);
      await acknowledged(shard, lost);
    } finally {
      await ingest.stop();
    }
    assert.deepEqual(
      [await rowsStored(surveyId), await rowsStored(other), seen.missing, sink.attempts()],
      [27, 1, 8, 3],
    );
  });

  it('stores again the rest of a batch of which ClickHouse holds only some rows', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const surveyId = newId();
    const lines = Array.from({ length: 10 }, () => responseLine({ surveyId }));
    await database.store(lines.slice(0, 4));
    const last = await add(shard, lines);
    const ingest = start(shard, { metrics, sink: losing((attempt) => attempt === 1) });
    try {
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
    }
    assert.deepEqual(
      [
        (await database.responses.countBySurvey([surveyId])).get(surveyId)?.total,
        await rowsStored(surveyId),
        seen.missing,
      ],
      [10, 10, 6],
    );
  });

  it('checks later versions and tombstones by their ids, and takes a superseded version for stored', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const [surveyId, responseId, gone] = [newId(), newId(), newId()];
    const version = (number: number) =>
      responseLine({
        surveyId,
        responseId,
        submittedAtMs: 1_750_000_000_000,
        version: number,
        outcome: number === 3 ? 'COMPLETED' : 'PARTIAL',
      });
    await add(shard, [version(1), responseLine({ surveyId, responseId: gone, submittedAtMs: 1_750_000_000_000 })]);
    const last = await add(shard, [version(2), version(3), encodeTombstone(surveyId, gone, 1_750_000_000_000)]);
    const ingest = start(shard, { metrics, sink: losing((attempt) => attempt === 2) });
    try {
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
    }
    assert.deepEqual((await database.responses.countBySurvey([surveyId])).get(surveyId), { total: 1, complete: 1 });
    assert.ok(seen.missing === 0 || seen.missing === 3, `${seen.missing} rows: one batch or two`);
  });

  it('acknowledges nothing while it cannot check whether a batch is stored', async () => {
    const shard = freshShard();
    const { metrics } = counting();
    const surveyId = newId();
    const last = await add(shard, [responseLine({ surveyId })]);
    let asked = 0;
    const seeing = createBatchCheck(database.responses.storedRows);
    const ingest = start(shard, {
      metrics,
      sink: {
        ...taking(database.responses.insertBatch),
        missing: async (lines) => {
          asked += 1;
          if (asked < 4) throw new Error('away');
          return seeing(lines);
        },
      },
    });
    try {
      await eventually(() => assert.ok(asked >= 2));
      assert.equal(await stream.acknowledged(shard), '0-0');
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
    }
    assert.equal(await rowsStored(surveyId), 1);
  });

  /** As a disk does that lost its last writes. */
  const loseRows = (condition: string) =>
    database.clickhouse.command(
      `ALTER TABLE ${database.clickhouse.table('responses')} DELETE WHERE ${condition} SETTINGS mutations_sync = 2`,
    );

  it('finds rows that ClickHouse has lost, stores them again, and leaves out deleted ones', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const [surveyId, deleted, responseId] = [newId(), newId(), newId()];
    // Old enough to be compared by their sums.
    const moment = Date.now() - 40_000;
    const lines = Array.from({ length: 30 }, (_, n) => responseLine({ surveyId, submittedAtMs: moment + n }));
    const rows = [
      ...lines,
      responseLine({ surveyId: deleted, submittedAtMs: moment }),
      responseLine({ surveyId, responseId, submittedAtMs: moment, version: 1, outcome: 'PARTIAL' }),
      responseLine({ surveyId, responseId, submittedAtMs: moment, version: 2 }),
    ];
    const last = await add(shard, rows);
    const ingest = start(shard, {
      metrics,
      sink: losing(() => false),
      storedRows: database.responses.storedRows,
      isDeleted: async (id) => id === deleted,
      lossCheckMs: 300,
    });
    const total = async () => (await database.responses.countBySurvey([surveyId])).get(surveyId)?.total;
    try {
      await acknowledged(shard, last);
      await eventually(() => assert.ok(seen.rechecked > 1));
      assert.deepEqual([seen.missing, await total()], [0, 31]);
      // Superseded rows, repeated rows and rows of a deleted survey do not count as missing.
      await database.store(lines.slice(0, 5));
      await loseRows(`survey_id = '${deleted}'`);
      const rounds = seen.rechecked;
      await eventually(() => assert.ok(seen.rechecked > rounds + 1));
      assert.equal(seen.missing, 0);
      await loseRows(`survey_id = '${surveyId}' AND toUnixTimestamp64Milli(submitted_at) % 3 = 0`);
      assert.ok(((await total()) ?? 31) < 31);
      await eventually(async () => assert.equal(await total(), 31));
      assert.ok(seen.missing > 0);
      assert.equal(await rowsStored(deleted), 0);
    } finally {
      await ingest.stop();
    }
  });

  it('checks all retained rows by their ids at the start', async () => {
    const shard = freshShard();
    const surveyId = newId();
    const last = await add(
      shard,
      Array.from({ length: 12 }, () => responseLine({ surveyId })),
    );
    const first = counting();
    const former = start(shard, { metrics: first.metrics, sink: losing(() => false) });
    await acknowledged(shard, last);
    await former.stop();
    await loseRows(`survey_id = '${surveyId}'`);
    const second = counting();
    const ingest = start(shard, {
      metrics: second.metrics,
      sink: losing(() => false),
      storedRows: database.responses.storedRows,
    });
    try {
      await eventually(async () => assert.equal(await rowsStored(surveyId), 12));
    } finally {
      await ingest.stop();
    }
    assert.equal(second.seen.missing, 12);
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
    const ingest = start(shard, { metrics, sink: { ...taking(insertBatch), missing: createBatchCheck(storedRows) } });
    try {
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
      await tight.close();
    }
    assert.equal(await rowsStored(surveyId), rows);
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
