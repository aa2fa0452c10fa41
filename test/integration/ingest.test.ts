import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { newId } from '../../src/ids.ts';
import { createLog } from '../../src/log.ts';
import { createIngest, type IngestDeps } from '../../src/pipelines/ingest.ts';
import { createClickHouse } from '../../src/stores/clickhouse/client.ts';
import { createResponseStore } from '../../src/stores/clickhouse/responses.ts';
import { createSharedRedis } from '../../src/stores/redis/clients.ts';
import type { Shard } from '../../src/stores/redis/shards.ts';
import { createStream, type Manifest, type Stream } from '../../src/stores/redis/stream.ts';
import { eventually } from '../support/eventually.ts';
import { openResponseDatabase, responseLine, type ResponseDatabase } from '../support/response-database.ts';
import { sharedStores } from '../support/stores.ts';

const log = createLog('silent');

/** What was inserted, and how often it went wrong. */
function counting() {
  const seen = { inserted: 0, insertRetried: 0, deadLettered: 0, ingestFenced: 0 };
  return {
    seen,
    metrics: {
      inserted: (rows: number) => void (seen.inserted += rows), insertRetried: () => void (seen.insertRetried += 1), deadLettered: () => void (seen.deadLettered += 1),
      ingestFenced: () => void (seen.ingestFenced += 1), shardState: () => undefined,
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

  const add = (shard: Shard, lines: readonly string[], codes = 0) =>
    redis.xadd(shard.stream, '*', 'n', lines.length, 'codes', codes, 'surveys', newId(), 'filled', '', 'rows', lines.join('\n'));

  const start = (shard: Shard, deps: Partial<IngestDeps> & Pick<IngestDeps, 'sink' | 'metrics'>) => {
    const ingest = createIngest({ stream, shards: [shard], beforeAck: async () => undefined, afterAck: async () => undefined, hasRoom: () => true, name: newId(), now: Date.now, log, ...deps });
    ingest.start();
    return ingest;
  };

  const acknowledged = (shard: Shard, id: string | null) => eventually(async () => assert.equal(await stream.acknowledged(shard), id), 60_000);

  /** Without FINAL: a row that was sent twice stands there twice. */
  async function rowsStored(surveyId: string): Promise<number> {
    const [row] = await database.clickhouse.select<[number]>(`SELECT count() FROM ${database.clickhouse.table('responses')} WHERE survey_id = '${surveyId}'`);
    return row?.[0] ?? 0;
  }

  it('keeps it while a batch takes longer than a lease to be stored, and to be told', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const steps: string[] = [];
    const slow = async (step: string) => {
      steps.push(step);
      await sleep(3000);
    };
    const last = await add(shard, ['["row"]']);
    const ingest = start(shard, {
      metrics, leaseMs: 1500, beforeAck: () => slow('told'),
      sink: { insertBatch: async () => (await slow('stored'), { kind: 'stored' }) },
    });
    try {
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
    }
    assert.deepEqual([steps, seen.ingestFenced], [['stored', 'told'], 0]);
    assert.equal(await redis.exists(`${shard.prefix}owner`), 0, 'a shard that is given up is free at once');
  });

  it('gives it up at once when it stops, also in the middle of a batch that the store does not take', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const last = await add(shard, ['["row"]']);
    const leaving = start(shard, { metrics, sink: { insertBatch: async () => ({ kind: 'retry', reason: 'away' }) } });
    await eventually(() => assert.ok(seen.insertRetried > 0));
    await leaving.stop();
    assert.equal(await redis.exists(`${shard.prefix}owner`), 0);
    const next = start(shard, { metrics, sink: { insertBatch: async () => ({ kind: 'stored' }) } });
    try {
      await acknowledged(shard, last);
    } finally {
      await next.stop();
    }
  });

  it('writes nothing for it any more once another has it, however long its last step took', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    await add(shard, ['["row"]']);
    let isLate = false;
    const ingest = start(shard, {
      metrics, leaseMs: 400,
      sink: {
        insertBatch: async () => {
          await redis.hset(`${shard.prefix}owner`, 'name', 'another', 'fence', 999);
          await redis.persist(`${shard.prefix}owner`);
          await sleep(600);
          isLate = true;
          return { kind: 'stored' };
        },
      },
    });
    await eventually(() => assert.deepEqual([isLate, seen.ingestFenced], [true, 1]));
    await ingest.stop();
    assert.deepEqual([await stream.acknowledged(shard), (await stream.manifest(shard))?.rows], ['0-0', 1]);
  });

  it('halves a batch for which the store lacks memory, and stores each row once, also when it dies between the halves', async () => {
    const shard = freshShard();
    const surveyId = newId();
    const rows = 1200;
    const text = 'x'.repeat(10_000);
    const last = await add(shard, Array.from({ length: rows }, () => responseLine({ surveyId, texts: [text] })));
    const url = new URL((await sharedStores()).clickhouseUrl);
    url.pathname = `/${database.clickhouse.database}`;
    url.searchParams.set('ch_max_memory_usage', '40000000');
    const tight = createClickHouse({ urls: [url.href], log });
    const { insertBatch } = createResponseStore({ clickhouse: tight });
    const whole = await insertBatch({ lines: (await stream.readAfter(shard, '0-0', 1))[0]?.rows ?? Buffer.alloc(0), rows, codeColumns: 0, token: newId() });
    assert.deepEqual([whole.kind, whole.kind === 'retry' && whole.isTooLarge], ['retry', true], JSON.stringify(whole));

    // The first run stops after the first piece that is stored, as if it were killed.
    const first = counting();
    const pieces: string[] = [];
    const dying = start(shard, {
      metrics: first.metrics, leaseMs: 1000,
      sink: {
        insertBatch: async (batch) => {
          if (pieces.length > 0) return { kind: 'retry', reason: 'dead by now' };
          const outcome = await insertBatch(batch);
          if (outcome.kind === 'stored') pieces.push(batch.token);
          return outcome;
        },
      },
    });
    await eventually(() => assert.equal(pieces.length, 1), 60_000);
    await dying.stop();
    const noted: Manifest | undefined = await stream.manifest(shard);
    assert.ok(noted?.halved?.includes(noted.token), JSON.stringify(noted));
    assert.ok((await rowsStored(surveyId)) < rows);

    // By then there is memory: it must go on with the same pieces all the same.
    const second = counting();
    const ingest = start(shard, { metrics: second.metrics, sink: database.responses });
    try {
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
      await tight.close();
    }
    assert.equal(await rowsStored(surveyId), rows);
    assert.equal(second.seen.deadLettered, 0);
  });

  it('puts many rows of wide surveys into several batches', async () => {
    const shard = freshShard();
    const sizes: number[] = [];
    for (let n = 0; n < 10; n += 1) await add(shard, Array.from({ length: 1000 }, () => '[]'), 1000);
    const last = await add(shard, ['[]'], 3);
    const { metrics } = counting();
    const ingest = start(shard, { metrics, sink: { insertBatch: async ({ rows }) => (sizes.push(rows), { kind: 'stored' }) } });
    try {
      await acknowledged(shard, last);
    } finally {
      await ingest.stop();
    }
    assert.equal(sizes.reduce((sum, rows) => sum + rows, 0), 10_001);
    assert.ok(Math.max(...sizes) <= 4000, sizes.join(', '));
  });
});
