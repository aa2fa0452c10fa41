import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before } from 'node:test';
import type { Redis } from 'ioredis';
import { createLog } from '../../src/log.ts';
import { createBatchCheck } from '../../src/pipelines/ingest/batch-check.ts';
import { createIngest, type IngestDeps } from '../../src/pipelines/ingest/ingest.ts';
import type { BatchSink } from '../../src/pipelines/ingest/store-batch.ts';
import { newId } from '../../src/platform/ids.ts';
import { createIdempotencyRecords } from '../../src/stores/clickhouse/write/idempotency-records.ts';
import type { Shard } from '../../src/stores/redis/intake/shards.ts';
import { createStream, type Stream } from '../../src/stores/redis/intake/stream.ts';
import { eventually } from './eventually.ts';
import { noMemoryPressure } from './intake.ts';
import { openPatientRedis } from './patient-redis.ts';
import { openResponseDatabase, type ResponseDatabase, responseLine } from './response-database.ts';
import { sharedStores } from './stores.ts';

const log = createLog('silent');

export interface ShardIngestFixture {
  database: ResponseDatabase;
  redis: Redis;
  stream: Stream;
}

/** What was inserted, and how often it went wrong. */
export function counting() {
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
      shardUnknown: () => undefined,
    },
  };
}

/**
 * A database and shards for the tests of a suite, with what writes to a shard, starts its ingest and waits for it:
 * begun before the first test, when `take` is given the stores, and removed after the last.
 */
export function useShardIngest(take: (opened: ShardIngestFixture) => void) {
  let database: ResponseDatabase;
  let redis: Redis;
  let stream: Stream;
  const prefixes: string[] = [];
  before(async () => {
    database = await openResponseDatabase();
    redis = await openPatientRedis(new URL('/9', (await sharedStores()).redisUrl).href);
    stream = createStream(redis);
    take({ database, redis, stream });
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

  /** Adds 30 rows of a survey that have waited for so long. */
  async function addWaiting(shard: Shard, { surveyId, ageMs }: { surveyId: string; ageMs: number }): Promise<string> {
    const moment = Date.now() - ageMs;
    const lines = Array.from({ length: 30 }, (_, n) => responseLine({ surveyId, submittedAtMs: moment + n }));
    const fields = { n: 30, codes: 0, surveys: surveyId, filled: '', rows: lines.join('\n') };
    return (await redis.xadd(shard.stream, `${moment + 100}-0`, ...Object.entries(fields).flat())) ?? '';
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

  const countOf = async (surveyId: string, counted: string): Promise<number> => {
    const [row] = await database.clickhouse.select<[number]>(
      `SELECT ${counted} FROM ${database.clickhouse.table('responses')} WHERE survey_id = '${surveyId}'`,
    );
    return row?.[0] ?? 0;
  };
  /** Without FINAL: a row that was sent twice stands there twice. */
  const rowsStored = (surveyId: string) => countOf(surveyId, 'count()');
  const responsesStored = (surveyId: string) => countOf(surveyId, 'uniqExact(response_id)');

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

  return { freshShard, add, addWaiting, start, acknowledged, handedOn, rowsStored, responsesStored, losing };
}
