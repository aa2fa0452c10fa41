import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createDeadLetters } from '../../src/actors/dead-letters.ts';
import { newId } from '../../src/platform/ids.ts';
import { responseKey } from '../../src/stores/redis/intake/shards.ts';
import type { Stores } from '../../src/stores/stores.ts';
import type { Client } from '../support/client.ts';
import { eraseAllDeleted } from '../support/erase-all-deleted.ts';
import { eventually } from '../support/eventually.ts';
import { dayMs, useRetention } from '../support/use-retention.ts';

async function contentOf(redis: Redis, key: string): Promise<string> {
  const read: Record<string, () => Promise<unknown>> = {
    string: () => redis.get(key),
    hash: () => redis.hgetall(key),
    stream: () => redis.xrange(key, '-', '+'),
    list: () => redis.lrange(key, 0, -1),
    set: () => redis.smembers(key),
    zset: () => redis.zrange(key, '0', '-1'),
  };
  return JSON.stringify((await read[await redis.type(key)]?.()) ?? '');
}

describe('traces of erased responses', () => {
  let admin: Client;
  let stores: Stores;
  const { inDays, make, shows } = useRetention((served) => ({ admin, stores } = served));

  const begunMs = Date.now();
  /**
   * Where in Redis, ClickHouse and Postgres a text can still be read. Responses from before these tests, of which another
   * file of the worker may have left a hundred thousand, cannot hold it.
   */
  const tracesOf = async (text: string): Promise<string[]> => {
    const found: string[] = [];
    for (const redis of [stores.intakeRedis, stores.sharedRedis])
      for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
        const [next, keys] = await redis.scan(cursor, 'COUNT', 1000);
        cursor = next;
        for (const key of keys) if ((await contentOf(redis, key)).includes(text)) found.push(`redis ${key}`);
      }
    const [rows] = await stores.clickhouse.select<[number]>(
      `SELECT count() FROM ${stores.clickhouse.table('responses')}
       PREWHERE submitted_at >= fromUnixTimestamp64Milli(toInt64(${begunMs}), 'UTC') WHERE formatRow('JSONEachRow', *) LIKE '%${text}%'`,
    );
    if (Number(rows?.[0]) > 0) found.push(`clickhouse: ${rows?.[0]} rows`);
    for (const { table_name: table } of await stores.sql<
      { table_name: string }[]
    >`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`) {
      const [hit] = await stores.sql.unsafe(`SELECT count(*) AS n FROM "${table}" t WHERE t::text LIKE '%${text}%'`);
      if (Number(hit?.['n']) > 0) found.push(`postgres ${table}`);
    }
    // A scan may name a key more than once.
    return [...new Set(found)];
  };

  /** As ingest does with a row that ClickHouse cannot read. */
  const bury = async (row: readonly unknown[]): Promise<void> => {
    const { prefix } = stores.shards.of(String(row[0]));
    await stores.intakeRedis.xadd(`${prefix}dead`, '*', 'reason', 'for this test', 'rows', JSON.stringify(row));
  };
  /** `asWhole`: only ClickHouse cannot read it. */
  const buried = (surveyId: string, respondent: string, { asWhole = true, submittedAtMs = Date.now() } = {}) =>
    [
      surveyId,
      randomUUID(),
      asWhole ? submittedAtMs : 'some day',
      1,
      0,
      1,
      0,
      0,
      'long',
      'en',
      respondent,
      {},
      [],
      [respondent],
    ] as const;
  const lettersOf = async (surveyId: string): Promise<number> =>
    (await createDeadLetters(stores).ofSurvey(surveyId)).length;

  it('no store holds a trace of an erased respondent', async () => {
    const survey = await make();
    const canary = `canary-${randomUUID()}`;
    const answers = [{ questionId: survey.nameId, textValue: canary }];
    const partial = await admin.submit(survey.id, {
      answers,
      respondent: canary,
      metadata: { note: canary },
      isComplete: false,
    });
    assert.equal(partial.status, 201);
    const { responseId, resumeToken } = partial.body.data;
    assert.equal(
      (await admin.submit(survey.id, { answers, respondent: canary, responseId, resumeToken, isComplete: false }))
        .status,
      201,
    );
    assert.equal(
      (await admin.submit(survey.id, { answers, respondent: canary }, { 'idempotency-key': `key-${responseId}` }))
        .status,
      201,
    );
    await shows(survey.id, 2);
    const before = await tracesOf(canary);
    assert.ok(
      before.some((trace) => trace.startsWith('clickhouse')),
      'it can be found while it is there',
    );
    assert.deepEqual(await admin.remove(`/surveys/${survey.id}/respondents/${canary}`), {
      id: canary,
      deleted: true,
      responses: 2,
      isFinished: true,
    });
    await shows(survey.id, 0);
    // The schedule comes again for what a merge of other rows holds at the moment.
    await eventually(async () => {
      await eraseAllDeleted(stores.responses);
      assert.ok((await tracesOf(canary)).every((trace) => !trace.startsWith('clickhouse')));
    }, 120_000);
    // The schedule does so with what is ten minutes old; until then live streams may ask for it.
    const forget = async (before: number) => {
      for (const shard of stores.shards.all) await stores.stream.trim(shard, `${before}-0`);
      return tracesOf(canary);
    };
    const kept = await forget(Date.now() - 600_000);
    const streams = stores.shards.all.map(({ stream }) => `redis ${stream}`);
    assert.ok(kept.length > 0 && kept.every((trace) => streams.includes(trace)), kept.join(', '));
    assert.deepEqual(await forget(Date.now() + dayMs), []);
  });

  it('no store holds a trace of a deleted survey, of its open responses or its dead letters', async () => {
    const survey = await make();
    const canary = `canary-${randomUUID()}`;
    const answers = [{ questionId: survey.nameId, textValue: canary }];
    for (const more of [{ isComplete: false }, { isComplete: false, responseId: randomUUID() }, {}])
      assert.equal(
        (await admin.submit(survey.id, { answers, respondent: canary, metadata: { note: canary }, ...more })).status,
        201,
      );
    const { responseId } = (await admin.submit(survey.id, { answers, isComplete: false })).body.data;
    // In the form of an earlier version.
    await stores.intakeRedis.hset(responseKey(responseId), 'data', JSON.stringify({ row: { texts: [canary] } }));
    for (const asWhole of [true, false]) await bury(buried(survey.id, canary, { asWhole }));
    await shows(survey.id, 4);
    assert.ok((await tracesOf(canary)).some((trace) => trace.includes('answers:')));
    await admin.remove(`/surveys/${survey.id}`);
    const streams = stores.shards.all.map(({ stream }) => `redis ${stream}`);
    await eventually(
      async () =>
        assert.deepEqual(
          (await tracesOf(canary)).filter((trace) => !streams.includes(trace)),
          [],
        ),
      60_000,
    );
    assert.equal(await stores.intakeRedis.exists(responseKey(responseId)), 0);
    for (const shard of stores.shards.all) await stores.stream.trim(shard, `${Date.now() + dayMs}-0`);
    assert.deepEqual(await tracesOf(canary), []);
  });

  it('dead letters of an erased respondent, of expired responses and of a deleted survey are not requeued', async () => {
    const survey = await make({ retentionDays: 3 });
    const who = `guest-${randomUUID()}`;
    await survey.submit({ respondent: who });
    for (const [respondent, more] of [
      [who, {}],
      [who, { asWhole: false }],
      ['another', { submittedAtMs: Date.now() + 2 * dayMs }],
      ['an old one', {}],
    ] as const)
      await bury(buried(survey.id, respondent, more));
    assert.deepEqual(await admin.remove(`/surveys/${survey.id}/respondents/${who}`), {
      id: who,
      deleted: true,
      responses: 2,
      isFinished: true,
    });
    assert.equal(await lettersOf(survey.id), 2);
    assert.equal(await inDays(4).erasing.eraseExpired(), 1);
    assert.equal(await lettersOf(survey.id), 1);
    const gone = newId();
    await bury(buried(gone, who));
    const [letter] = await stores.stream.listDeadLetters(stores.shards.of(gone), { count: 1 });
    assert.ok(letter);
    await admin.post('/dead-letters/replay');
    // A row that still cannot be stored becomes a dead letter again.
    await eventually(async () => assert.equal(await lettersOf(survey.id), 1));
    assert.equal(await lettersOf(gone), 0);
    assert.equal(
      await stores.stream.requeueDeadLetter(stores.shards.of(gone), letter, {
        count: 1,
        codeColumns: 0,
        surveyIds: [gone],
      }),
      false,
      'what was dropped since it was read',
    );
  });
});
