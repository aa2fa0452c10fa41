import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { createResponseStore, type ResponseStore } from '../../../../src/stores/clickhouse/responses.ts';
import { migrateClickHouse } from '../../../../src/stores/clickhouse/schema/migrate.ts';
import { single as codeDimension } from '../../../support/dimensions.ts';
import {
  responseLine as lineOf,
  type ResponseDatabase,
  givenStart as start,
  useResponseDatabase,
} from '../../../support/response-database.ts';

let database: ResponseDatabase;
let clickhouse: ClickHouse;
let responses: ResponseStore;
let store: ResponseDatabase['store'];
let walk: ResponseDatabase['walk'];

useResponseDatabase((opened) => {
  database = opened;
  ({ clickhouse, responses, store, walk } = database);
});

test('the schema can be migrated repeatedly and by two processes at once', async () => {
  await Promise.all([migrateClickHouse(clickhouse), migrateClickHouse(clickhouse)]);
  assert.deepEqual(
    await clickhouse.select<[string]>(
      `SELECT DISTINCT name FROM ${clickhouse.table('schema_migrations')} ORDER BY name`,
    ),
    [
      ['001_responses.sql'],
      ['002_findings.sql'],
      ['003_merges.sql'],
      ['004_no_deduplication.sql'],
      ['005_idempotency_records.sql'],
      ['006_lightweight_deletes.sql'],
      ['007_record_replies.sql'],
    ],
  );
});

test('rows of small batches are not merged every few inserts', async () => {
  const surveyId = newId();
  const alone = Date.UTC(2031, 4, 1);
  for (let at = 0; at < 90; at += 1)
    assert.deepEqual(await store([lineOf({ surveyId, submittedAtMs: alone + at })]), { kind: 'stored' });
  const deepest = async (): Promise<number> => {
    const [row] = await clickhouse.select<[number]>(
      `SELECT max(level) FROM system.parts WHERE active AND database = '${clickhouse.database}' AND table = 'responses' AND partition = '203105'`,
    );
    return row?.[0] ?? 0;
  };
  const timesWritten = await deepest();
  assert.ok(timesWritten <= 8, `some rows were merged ${timesWritten} times`);
});

test('a repeated batch is stored again: ClickHouse does not deduplicate inserts', async () => {
  const surveyId = newId();
  const lines = Array.from({ length: 50 }, (_, index) => lineOf({ surveyId, submittedAtMs: start + index }));
  const rows = async () =>
    (
      await clickhouse.select<[number]>(
        `SELECT count() FROM ${clickhouse.table('responses')} WHERE survey_id = '${surveyId}'`,
      )
    )[0]?.[0] ?? 0;
  assert.deepEqual(await store(lines), { kind: 'stored' });
  // As if the part had never got its name.
  await clickhouse.command(
    `ALTER TABLE ${clickhouse.table('responses')} DELETE WHERE survey_id = '${surveyId}' SETTINGS mutations_sync = 2`,
  );
  assert.equal(await rows(), 0);
  assert.deepEqual(await store(lines), { kind: 'stored' });
  assert.equal(await rows(), 50);
});

test('a batch that was stored twice still counts once everywhere', async () => {
  const surveyId = newId();
  const lines = Array.from({ length: 50 }, (_, index) => lineOf({ surveyId, submittedAtMs: start + index }));
  await store(lines);
  await store(lines);
  assert.equal((await responses.list({ surveyId, limit: 100 })).total, 50);
  assert.equal((await responses.list({ surveyId, limit: 100 })).records.length, 50);
  assert.equal((await walk(surveyId)).length, 50);
  assert.deepEqual(await responses.countBySurvey([surveyId]), new Map([[surveyId, { total: 50, complete: 50 }]]));
});

test('the lines of a batch may be given in several buffers', async () => {
  const surveyId = newId();
  const pieces = [`${lineOf({ surveyId })}\n${lineOf({ surveyId })}\n`, lineOf({ surveyId }), lineOf({ surveyId })].map(
    (piece) => Buffer.from(piece),
  );
  assert.deepEqual(await responses.insertBatch({ lines: pieces, rows: 4, codeColumns: 0 }), { kind: 'stored' });
  assert.equal((await responses.countBySurvey([surveyId])).get(surveyId)?.total, 4);
});

test('the highest version of a response counts, even if another arrives last', async () => {
  const surveyId = newId();
  const responseId = newId();
  const version = (number: number, isComplete: boolean) =>
    lineOf({ surveyId, responseId, version: number, outcome: isComplete ? 'COMPLETED' : 'PARTIAL', codes: [number] });
  await store([version(1, false)]);
  await store([version(3, true)]);
  await store([version(2, false)]);
  assert.deepEqual(
    (await responses.findAll(responseId)).map(({ version, row }) => [version, row.codes[0]]),
    [[3, 3]],
  );
  const { records, total } = await responses.list({ surveyId, limit: 10 });
  assert.deepEqual([total, records.map((record) => record.version)], [1, [3]]);
  assert.equal(
    (await responses.list({ surveyId, limit: 10, isComplete: false })).total,
    0,
    'an older version cannot satisfy a filter',
  );
  assert.equal(
    (await responses.list({ surveyId, limit: 10, conditions: [{ dimension: codeDimension(0), code: 1 }] })).total,
    0,
  );
  assert.equal(
    (await responses.list({ surveyId, limit: 10, conditions: [{ dimension: codeDimension(0), code: 3 }] })).records
      .length,
    1,
  );
});

test('columns are added before rows with more code positions are stored', async () => {
  const surveyId = newId();
  const codes = Array.from({ length: 130 }, (_, index) => index + 1);
  const elsewhere = createResponseStore({ clickhouse });
  await store([lineOf({ surveyId, codes })], { codeColumns: 130 });
  const [record] = (await responses.list({ surveyId, limit: 1 })).records;
  assert.deepEqual(record?.row.codes.slice(0, 130), codes);
  assert.equal(record?.row.codes.length, 192, 'columns come in steps');
  assert.equal(
    (await elsewhere.list({ surveyId, limit: 1, conditions: [{ dimension: codeDimension(129), code: 130 }] })).total,
    1,
    'another process learns of new columns',
  );
  assert.equal(await elsewhere.hasAnswersAt(surveyId, [129]), true);
  assert.equal(await elsewhere.hasAnswersAt(surveyId, [131, 900]), false);
  assert.deepEqual((await elsewhere.findAll(record?.responseId ?? ''))[0]?.row.codes, record?.row.codes);
});

test('two processes may add columns at the same time', async () => {
  const surveyId = newId();
  const [one, two] = [createResponseStore({ clickhouse }), createResponseStore({ clickhouse })];
  const codes = Array.from({ length: 300 }, (_, index) => index + 1);
  const insert = (into: ResponseStore, count: number) =>
    into.insertBatch({
      lines: Buffer.from(lineOf({ surveyId, codes: codes.slice(0, count) })),
      rows: 1,
      codeColumns: count,
    });
  assert.deepEqual(await Promise.all([insert(one, 200), insert(two, 300)]), [{ kind: 'stored' }, { kind: 'stored' }]);
  for await (const record of one.stream({ surveyId })) {
    const sent = record.row.codes.filter((code) => code !== 0);
    assert.deepEqual(sent, codes.slice(0, sent.length));
    assert.ok([200, 300].includes(sent.length));
  }
});

test('a batch with malformed lines is refused and nothing of it is stored', async () => {
  const surveyId = newId();
  const good = lineOf({ surveyId });
  const poison = [
    good.replace(surveyId, 'not-a-uuid'),
    '["unfinished',
    good.replace(',-1,', ',{},'),
    'null',
    `${good.slice(0, -1)}`,
    good.replace(String(start), '"soon"'),
  ];
  for (const line of poison) {
    const outcome = await store([good, line, lineOf({ surveyId })]);
    assert.equal(outcome.kind, 'refused', `${line} gave ${JSON.stringify(outcome)}`);
  }
  assert.equal((await responses.countBySurvey([surveyId])).get(surveyId)?.total, 0);
  assert.deepEqual(await store([good]), { kind: 'stored' });
});

test('the reason of a refusal does not quote the row', async () => {
  const outcome = await store([
    lineOf({ surveyId: newId(), texts: ['very private'] }).replace(String(start), '"private too"'),
  ]);
  assert.ok(
    outcome.kind === 'refused' && outcome.reason.length > 10 && !outcome.reason.includes('private'),
    JSON.stringify(outcome),
  );
});

test('a batch that spans months is stored as one', async () => {
  const surveyId = newId();
  // More than the hundred partitions that ClickHouse lets one insert have of itself.
  const months = 105;
  const lines = Array.from({ length: months }, (_, index) =>
    lineOf({ surveyId, submittedAtMs: Date.UTC(2015, index, 15) }),
  );
  // Each month is a part with syncs of its own, for which a slow disk may need longer than a first attempt has.
  const batch = { lines: Buffer.from(lines.join('\n')), rows: months, codeColumns: 64, attempt: 3 };
  assert.deepEqual(await responses.insertBatch(batch), { kind: 'stored' });
  const [row] = await clickhouse.select<[number]>(
    `SELECT count() FROM ${clickhouse.table('responses')} WHERE survey_id = '${surveyId}'`,
  );
  assert.equal(row?.[0], months);
});
