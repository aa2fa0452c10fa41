import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { createLog } from '../../../../src/log.ts';
import { createBatchCheck } from '../../../../src/pipelines/ingest/batch-check.ts';
import type { BatchSink } from '../../../../src/pipelines/ingest/store-batch.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createIdempotencyRecords, encodeRecord } from '../../../../src/stores/clickhouse/write/idempotency-records.ts';
import type { Stream } from '../../../../src/stores/redis/intake/stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { acceptingSink as taking } from '../../../support/intake.ts';
import { type ResponseDatabase, responseLine } from '../../../support/response-database.ts';
import { counting, useShardIngest } from '../../../support/use-shard-ingest.ts';

describe('the ingest of a shard', () => {
  let database: ResponseDatabase;
  let redis: Redis;
  let stream: Stream;
  const { freshShard, add, addWaiting, start, acknowledged, rowsStored, losing } = useShardIngest((opened) => {
    ({ database, redis, stream } = opened);
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
      // A third of the thirty lines, and perhaps the other response. They may be back before the mutation is reported.
      await loseRows(`survey_id = '${surveyId}' AND toUnixTimestamp64Milli(submitted_at) % 3 = 0`);
      await eventually(async () => assert.deepEqual([await total(), seen.missing >= 10], [31, true]));
      assert.equal(await rowsStored(deleted), 0);
    } finally {
      await ingest.stop();
    }
  });

  /** A log, and the surveys of which it says that rows may be lost. */
  function logOfLosses() {
    const errors: unknown[] = [];
    const log = Object.assign(createLog('silent'), {
      error: (fields: { surveyIds?: string[] }, message: string) => {
        if (message.startsWith('ClickHouse may have lost')) errors.push(fields.surveyIds);
      },
    });
    return { errors, log };
  }

  it('says once which rows it cannot store again, as their entries made room for others', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const [surveyId, unreadable] = [newId(), newId()];
    const moment = Date.now() - 40_000;
    const linesOf = (id: string) =>
      Array.from({ length: 30 }, (_, n) => responseLine({ surveyId: id, submittedAtMs: moment + n }));
    const last = await add(shard, [...linesOf(surveyId), ...linesOf(unreadable).slice(0, 2)]);
    const { errors, log } = logOfLosses();
    const sink = losing(() => false);
    const ingest = start(shard, {
      metrics,
      log,
      sink: {
        ...sink,
        insertBatch: async (batch) =>
          batch.lines.includes(unreadable) ? { kind: 'refused', reason: 'unreadable' } : sink.insertBatch(batch),
      },
      memory: { surplusBytes: () => 1, recordFreed: () => undefined },
      storedRows: database.responses.storedRows,
      lossCheckMs: 300,
    });
    try {
      await acknowledged(shard, last);
      await eventually(async () => assert.equal(await redis.xlen(shard.stream), 0));
      const rounds = seen.rechecked;
      await eventually(() => assert.ok(seen.rechecked > rounds + 1));
      assert.deepEqual([seen.deadLettered, errors], [2, []]);
      await loseRows(`survey_id = '${surveyId}' AND toUnixTimestamp64Milli(submitted_at) % 3 = 0`);
      await eventually(() => assert.deepEqual(errors, [[surveyId]]));
      const later = seen.rechecked;
      await eventually(() => assert.ok(seen.rechecked > later + 1));
      assert.deepEqual([seen.missing, errors], [0, [[surveyId]]]);
    } finally {
      await ingest.stop();
    }
  });

  it('calls no rows lost that it has stored again, where an entry of the same time made room for others', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const surveyId = newId();
    const moment = Math.floor(Date.now() / 10_000) * 10_000 - 40_000;
    const linesFrom = (start: number) =>
      Array.from({ length: 10 }, (_, n) => responseLine({ surveyId, submittedAtMs: start + n }));
    const first = await add(shard, linesFrom(moment));
    const last = await add(shard, linesFrom(moment + 100));
    const { errors, log } = logOfLosses();
    const ingest = start(shard, {
      metrics,
      log,
      sink: losing(() => false),
      storedRows: database.responses.storedRows,
      lossCheckMs: 300,
    });
    const areAllSeen = async () => {
      const checks = seen.rechecked;
      await eventually(() => assert.ok(seen.rechecked > checks + 1));
    };
    try {
      await acknowledged(shard, last);
      await areAllSeen();
      await redis.xdel(shard.stream, first);
      await loseRows(`survey_id = '${surveyId}' AND toUnixTimestamp64Milli(submitted_at) >= ${moment + 100}`);
      await eventually(async () => assert.deepEqual([await rowsStored(surveyId), seen.missing >= 10], [20, true]));
      await areAllSeen();
      assert.deepEqual(errors, []);
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

  /** Adds an entry of then, as an outage of ClickHouse leaves them; gives its id. */
  const minuteMs = 60_000;

  it('finds lost rows that had waited for minutes before they were stored', async () => {
    for (const ageMs of [5 * minuteMs, 11 * minuteMs]) {
      const shard = freshShard();
      const { seen, metrics } = counting();
      const surveyId = newId();
      const last = await addWaiting(shard, { surveyId, ageMs });
      const { storedRows } = database.responses;
      const ingest = start(shard, { metrics, sink: losing(() => false), storedRows, lossCheckMs: 300 });
      try {
        await acknowledged(shard, last);
        await eventually(() => assert.ok(seen.rechecked > 1));
        assert.deepEqual([await rowsStored(surveyId), seen.missing], [30, 0]);
        await loseRows(`survey_id = '${surveyId}'`);
        await eventually(async () => assert.deepEqual([await rowsStored(surveyId), seen.missing], [30, 30]));
      } finally {
        await ingest.stop();
      }
    }
  });

  it('checks at the start also what had waited for longer than entries are kept', async () => {
    const shard = freshShard();
    const surveyId = newId();
    const last = await addWaiting(shard, { surveyId, ageMs: 11 * minuteMs });
    const first = start(shard, { metrics: counting().metrics, sink: losing(() => false) });
    await acknowledged(shard, last);
    await first.stop();
    await loseRows(`survey_id = '${surveyId}'`);
    const { storedRows } = database.responses;
    const ingest = start(shard, { metrics: counting().metrics, sink: losing(() => false), storedRows });
    try {
      await eventually(async () => assert.equal(await rowsStored(surveyId), 30));
    } finally {
      await ingest.stop();
    }
  });

  it('stores again the idempotency records of entries from before ClickHouse was started, and no others', async () => {
    const shard = freshShard();
    const surveyId = newId();
    const record = {
      hash: randomBytes(12).toString('hex'),
      version: 1,
      digest: 'abcdefghijkl',
      surveyId,
      submittedAtMs: 1_750_000_000_000,
      outcome: 'COMPLETED' as const,
    };
    const fields = { n: 1, codes: 0, surveys: surveyId, filled: '', rows: responseLine({ surveyId }) };
    const entry = [...Object.entries(fields).flat(), 'records', encodeRecord(record)];
    const last = (await redis.xadd(shard.stream, `${Date.now() - 5 * minuteMs}-0`, ...entry)) ?? '';
    const records = createIdempotencyRecords(database.clickhouse);
    let inserts = 0;
    const sink: BatchSink = {
      ...losing(() => false),
      insertRecords: async (...given) => {
        inserts += 1;
        await records.insert(...given);
      },
    };
    /** Until all was checked. */
    const runIngest = async (clickhouseStartedAtMs: number) => {
      const { seen, metrics } = counting();
      const storedRows = { ...database.responses.storedRows, startedAtMs: async () => clickhouseStartedAtMs };
      const ingest = start(shard, { metrics, sink, storedRows, lossCheckMs: 300 });
      try {
        await acknowledged(shard, last);
        await eventually(() => assert.ok(seen.rechecked > 0));
      } finally {
        await ingest.stop();
      }
    };
    await runIngest(Date.now() - 60 * minuteMs);
    assert.equal(inserts, 1);
    await runIngest(Date.now() - 60 * minuteMs);
    assert.equal(inserts, 1);
    await database.clickhouse.command(
      `ALTER TABLE ${database.clickhouse.table('idempotency_records')} DELETE WHERE hash = '${record.hash}' SETTINGS mutations_sync = 2`,
    );
    assert.deepEqual(await records.find([record.hash]), []);
    await runIngest(Date.now());
    assert.deepEqual(await records.find([record.hash]), [{ ...record, reply: '' }]);
  });
});
