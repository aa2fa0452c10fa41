import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createDeadLetters } from '../../src/actors/dead-letters.ts';
import { createResponseErasure } from '../../src/actors/erasure/erasure.ts';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { createAudit } from '../../src/stores/postgres/audit.ts';
import { retentionRules } from '../../src/stores/postgres/survey-retention.ts';
import { responseKey } from '../../src/stores/redis/intake/shards.ts';
import type { Stores } from '../../src/stores/stores.ts';
import type { Client } from '../support/client.ts';
import { eraseAllDeleted } from '../support/erase-all-deleted.ts';
import { eventually } from '../support/eventually.ts';
import { finishedExport } from '../support/exports.ts';
import type { RunningService } from '../support/service.ts';
import { uploadPicture, uploadsBy } from '../support/uploads.ts';
import { useServiceAndStores } from '../support/use-service.ts';

const dayMs = 86_400_000;

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

describe('erasure and retention', () => {
  let service: RunningService;
  let admin: Client;
  let stores: Stores;
  useServiceAndStores((served) => ({ service, admin, stores } = served));

  /** Of the tests below: other files of a worker may have left surveys whose responses are too old by then. */
  const ownIds = new Set<string>();
  /** The service's own parts, on its stores, at another time. */
  const inDays = (days: number, generalDays?: number) => {
    const now = () => Date.now() + days * dayMs;
    const { deadLetters, reading, uploads } = uploadsBy(now, stores);
    const erasing = createResponseErasure({
      ...stores,
      reading,
      uploads,
      deadLetters,
      audit: createAudit(stores.sql, createLog('error')),
      log: createLog('error'),
      now,
      rules: async (at) =>
        (await retentionRules(stores.sql, generalDays, at)).filter(({ surveyId }) => ownIds.has(surveyId)),
    });
    return { erasing };
  };

  const make = async (fields: Record<string, unknown> = {}) => {
    const { id } = await admin.create('/surveys', { title: 'Kept for a while', ...fields });
    ownIds.add(id);
    const name = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Name?' });
    const file = await admin.create(`/surveys/${id}/questions`, { type: 'FILE_UPLOAD', text: 'File?' });
    await admin.post(`/surveys/${id}/publish`);
    const upload = () => uploadPicture(service, { surveyId: id, questionId: file.id });
    const submit = async (more: Record<string, unknown> = {}, uploadId?: string): Promise<string> => {
      const answers = [
        { questionId: name.id, textValue: 'somebody' },
        ...(uploadId === undefined ? [] : [{ questionId: file.id, textValue: uploadId }]),
      ];
      const reply = await admin.submit(id, { answers, ...more });
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      return reply.body.data.responseId;
    };
    return { id, nameId: String(name.id), upload, submit };
  };
  const fileOf = (uploadId: string) => join(service.dataDir, 'uploads', uploadId.slice(-2), uploadId);
  const shows = (id: string, total: number) =>
    eventually(async () => {
      const { totalResponses } = await admin.get(`/analytics/surveys/${id}`);
      const { responseCount } = await admin.get(`/surveys/${id}`);
      assert.deepEqual([totalResponses, responseCount], [total, total]);
    });

  const exportOf = async (surveyId: string, more: Record<string, unknown> = {}): Promise<string> => {
    const { exportId } = (
      await admin.call('POST', `/exports/surveys/${surveyId}`, { body: { format: 'JSON', ...more } })
    ).body.data;
    assert.equal((await finishedExport(admin, exportId)).status, 'COMPLETED');
    return exportId;
  };
  const isWithdrawn = async (exportId: string): Promise<void> => {
    const { status, downloadUrl, error } = await admin.get(`/exports/${exportId}`);
    assert.deepEqual([status, downloadUrl], ['EXPIRED', null]);
    assert.match(error, /response .* deleted.*again/);
    const refused = await admin.call('GET', `/exports/${exportId}/download`);
    assert.deepEqual([refused.status, refused.body.message], [404, `There is no such file any more. ${error}`]);
    assert.equal((await admin.call('GET', `/exports/${exportId}/download`)).status, 404);
    assert.ok(!existsSync(join(service.dataDir, 'exports', exportId)));
  };
  /** An export that a process has in hand. */
  const exportInHand = async (surveyId: string): Promise<string> => {
    const [id, { id: userId }, now] = [newId(), await admin.get('/auth/me'), new Date()];
    await stores.sql`INSERT INTO exports (id, survey_id, user_id, format, options, survey_version, created_at) VALUES (${id}, ${surveyId}, ${userId}, 'CSV', '{"filters": [], "labels": "text"}', 1, ${now})`;
    assert.ok(await stores.exports.start(id));
    return id;
  };
  const finish = (id: string, days: number): Promise<boolean> =>
    stores.exports.complete(id, {
      rowCount: 1,
      fileSize: 1,
      sha256: '0'.repeat(64),
      expiresAt: new Date(Date.now() + days * dayMs),
    });

  it('a deletion removes the export files that show the response, and no others', async () => {
    const survey = await make();
    const first = await survey.submit();
    const [shown, elsewhere] = [await exportOf(survey.id), await exportOf(survey.id, { endDate: '2020-01-01' })];
    const second = await survey.submit();
    await admin.remove(`/responses/${second}`);
    assert.equal((await admin.get(`/exports/${shown}`)).status, 'COMPLETED', 'it was made before the response came in');
    await admin.remove(`/responses/${first}`);
    await isWithdrawn(shown);
    assert.equal((await admin.get(`/exports/${elsewhere}`)).status, 'COMPLETED');
    assert.equal((await admin.call('GET', `/exports/${elsewhere}/download`)).status, 200);
  });

  it('a file that is being made does not show a response that was deleted meanwhile', async () => {
    const survey = await make();
    const responseId = await survey.submit();
    const exportId = await exportInHand(survey.id);
    await admin.remove(`/responses/${responseId}`);
    assert.equal(await finish(exportId, 7), false);
    assert.equal(await stores.exports.saveProgress(exportId, 0.5), undefined);
    const { status, error } = await admin.get(`/exports/${exportId}`);
    assert.equal(status, 'FAILED');
    assert.match(error, /deleted.*ask for it again/);
  });

  it('expired responses stay in export files for a day at most', async () => {
    const survey = await make({ retentionDays: 3 });
    await survey.submit();
    const [done, inHand] = [await exportOf(survey.id), await exportInHand(survey.id)];
    assert.equal(await inDays(4).erasing.eraseExpired(), 1);
    assert.ok(await finish(inHand, 7));
    for (const id of [done, inHand]) {
      const { status, expiresAt } = await admin.get(`/exports/${id}`);
      assert.equal(status, 'COMPLETED');
      assert.ok(Math.abs(Date.parse(expiresAt) - (Date.now() + 5 * dayMs)) < 600_000, expiresAt);
    }
  });

  it('erasing a respondent removes responses, partial ones too, with uploads, counts and export files, and nothing else', async () => {
    const survey = await make({ responseQuota: 50 });
    const uploadId = await survey.upload();
    const who = 'Zoë / O’Hara \\ 100%';
    const mine = [
      await survey.submit({ respondent: who }, uploadId),
      await survey.submit({ respondent: who }),
      await survey.submit({ respondent: who, isComplete: false }),
    ];
    const others = [await survey.submit({ respondent: 'somebody else' }), await survey.submit()];
    const exportId = await exportOf(survey.id);
    assert.deepEqual(await admin.remove(`/surveys/${survey.id}/respondents/${encodeURIComponent(who)}`), {
      id: who,
      deleted: true,
      responses: 3,
      isFinished: true,
    });
    for (const id of mine) assert.equal((await admin.call('GET', `/responses/${id}`)).status, 404);
    for (const id of others) assert.equal((await admin.get(`/responses/${id}`)).id, id);
    assert.ok(!existsSync(fileOf(uploadId)));
    assert.equal((await admin.call('GET', `/uploads/${uploadId}`)).status, 404);
    await isWithdrawn(exportId);
    await shows(survey.id, 2);
    assert.deepEqual(await admin.remove(`/surveys/${survey.id}/respondents/${encodeURIComponent(who)}`), {
      id: who,
      deleted: true,
      responses: 0,
      isFinished: true,
    });
    const audit = await admin.get(`/audit?action=respondent.erased&objectId=${survey.id}`);
    assert.equal(audit.length, 2);
    assert.ok(!JSON.stringify(audit).includes('Zo'), 'the audit does not keep who it was');
  });

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

  it('more responses of a respondent than a batch holds are erased', async () => {
    const survey = await make();
    for (let n = 0; n < 12; n += 1)
      await Promise.all(Array.from({ length: 50 }, () => survey.submit({ respondent: 'busy' })));
    assert.deepEqual(await admin.remove(`/surveys/${survey.id}/respondents/busy`), {
      id: 'busy',
      deleted: true,
      responses: 600,
      isFinished: true,
    });
    await shows(survey.id, 0);
  });

  it('responses are erased at the age of their survey’s rule, or of the general one', async () => {
    const [short, long, general] = [await make({ retentionDays: 3 }), await make({ retentionDays: 30 }), await make()];
    const uploadId = await short.upload();
    const gone = await short.submit({}, uploadId);
    await short.submit({ isComplete: false });
    const kept = [await long.submit(), await general.submit()];
    await inDays(2).erasing.eraseExpired();
    await shows(short.id, 2);
    assert.equal(await inDays(4).erasing.eraseExpired(), 2);
    await shows(short.id, 0);
    const audit = await admin.get(`/audit?objectId=${short.id}&action=responses.expired`);
    assert.deepEqual(
      audit.map(({ actorKind, actorId, objectKind, details }: any) => [
        actorKind,
        actorId,
        objectKind,
        details.erased,
        details.retentionDays,
        Object.keys(details).sort(),
      ]),
      [['SYSTEM', null, 'survey', 2, 3, ['before', 'erased', 'retentionDays']]],
    );
    assert.equal((await admin.call('GET', `/responses/${gone}`)).status, 404);
    assert.ok(!existsSync(fileOf(uploadId)));
    for (const id of kept) assert.equal((await admin.get(`/responses/${id}`)).id, id);
    const rules = await retentionRules(stores.sql, 5, new Date(Date.now() + 6 * dayMs));
    assert.deepEqual(
      rules
        .filter(({ surveyId }) => [short.id, long.id, general.id].includes(surveyId))
        .map(({ days }) => days)
        .sort(),
      [3, 5],
    );
  });
});
