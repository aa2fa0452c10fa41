import assert from 'node:assert/strict';
import { existsSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createLog } from '../../../../src/log.ts';
import { createStoreRowsOfPart, type StoreRowsOfPartDeps } from '../../../../src/pipelines/ingest/rows-of-part.ts';
import type { RowSink } from '../../../../src/pipelines/ingest/store-rows.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { Shard } from '../../../../src/stores/redis/intake/shards.ts';
import type { Stream } from '../../../../src/stores/redis/intake/stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { type ResponseDatabase, responseLine } from '../../../support/response-database.ts';
import { counting, useShardIngest } from '../../../support/use-shard-ingest.ts';

describe('the repair of a damaged part', () => {
  let database: ResponseDatabase;
  let redis: Redis;
  let stream: Stream;
  const { freshShard, add, addWaiting, start, acknowledged, rowsStored, losing } = useShardIngest((opened) => {
    ({ database, redis, stream } = opened);
  });

  const minuteMs = 60_000;
  before(() =>
    database.clickhouse.command(
      `ALTER TABLE ${database.clickhouse.table('responses')} MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1`,
    ),
  );

  /** Damages the part of a survey; its name, undefined where its files are on another machine. */
  async function damage(surveyId: string): Promise<string | undefined> {
    const { clickhouse } = database;
    const [part] = await clickhouse.select<[string, string]>(
      `SELECT name, path FROM system.parts WHERE active AND database = '${clickhouse.database}' AND name IN
        (SELECT _part FROM ${clickhouse.table('responses')} WHERE survey_id = '${surveyId}')`,
    );
    const [name = '', path = ''] = part ?? [];
    if (!existsSync(path)) return undefined;
    truncateSync(join(path, 'data.bin'), 100);
    return name;
  }

  /** Repairs new parts with what the streams of a shard hold. */
  async function repair(
    shard: Shard,
    {
      metrics = counting().metrics,
      insertBatch = database.responses.insertBatch,
    }: { metrics?: StoreRowsOfPartDeps['metrics']; insertBatch?: RowSink['insertBatch'] } = {},
  ): Promise<{ name: string; isDropped: boolean }[]> {
    const found: { name: string; isDropped: boolean }[] = [];
    const { damagedParts, storedRowsExcept } = database.responses;
    const storeRowsOfPart = createStoreRowsOfPart({
      stream,
      shards: [shard],
      responses: { insertBatch, storedRowsExcept },
      isDeleted: async () => false,
      log: createLog('silent'),
      metrics,
      signal: new AbortController().signal,
    });
    await damagedParts.repairNewParts(storeRowsOfPart, ({ name, isDropped }) => found.push({ name, isDropped }));
    return found;
  }
  const drop = (name: string) =>
    database.clickhouse.command(`ALTER TABLE ${database.clickhouse.table('responses')} DROP PART '${name}'`);

  it('stores its rows again before it is dropped, and leaves one whose entries are gone', async (test) => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const ingest = start(shard, { metrics, sink: losing(() => false) });
    try {
      const [damaged, lost] = [newId(), newId()];
      await acknowledged(shard, await addWaiting(shard, { surveyId: damaged, ageMs: 11 * minuteMs }));
      const name = await damage(damaged);
      if (name === undefined) return test.skip('the files of this ClickHouse are on another machine');
      assert.deepEqual(await repair(shard, { metrics }), [{ name, isDropped: true }]);
      assert.deepEqual([await rowsStored(damaged), seen.missing], [30, 30]);
      await acknowledged(shard, await addWaiting(shard, { surveyId: lost, ageMs: 10 * minuteMs }));
      const staying = (await damage(lost)) ?? '';
      await eventually(async () => {
        await stream.trim(shard, `${Date.now()}-0`);
        assert.equal(await redis.xlen(shard.stream), 0);
      });
      assert.deepEqual(await repair(shard, { metrics }), [{ name: staying, isDropped: false }]);
      assert.equal(seen.missing, 30);
      await drop(staying);
    } finally {
      await ingest.stop();
    }
  });

  /** Damages a part of three rows whose entries are not acknowledged. */
  async function damageWaiting(): Promise<{ shard: Shard; surveyId: string; name: string | undefined }> {
    const shard = freshShard();
    const surveyId = newId();
    const lines = Array.from({ length: 3 }, () => responseLine({ surveyId }));
    await add(shard, lines);
    await database.store(lines);
    return { shard, surveyId, name: await damage(surveyId) };
  }

  it('leaves it where no stream was seen to have its rows, though none is known to be trimmed', async (test) => {
    const surveyId = newId();
    await database.store([responseLine({ surveyId }), responseLine({ surveyId })]);
    const name = await damage(surveyId);
    if (name === undefined) return test.skip('the files of this ClickHouse are on another machine');
    assert.deepEqual(await repair(freshShard()), [{ name, isDropped: false }]);
    await drop(name);
  });

  it('replaces it before its rows are acknowledged, which cannot be verified until then', async (test) => {
    const { shard, surveyId, name } = await damageWaiting();
    if (name === undefined) return test.skip('the files of this ClickHouse are on another machine');
    assert.deepEqual(await repair(shard), [{ name, isDropped: true }]);
    assert.equal(await rowsStored(surveyId), 3);
  });

  it('drops it only when its rows were seen elsewhere, whatever ClickHouse confirms', async (test) => {
    const { shard, surveyId, name } = await damageWaiting();
    if (name === undefined) return test.skip('the files of this ClickHouse are on another machine');
    const { insertBatch } = losing((attempt) => attempt === 1);
    assert.deepEqual(await repair(shard, { insertBatch }), [{ name, isDropped: true }]);
    assert.equal(await rowsStored(surveyId), 3);
  });
});
