import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CountPlan, Dimension } from '../../../../src/domain/questions/contract.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createAnnotationTable } from '../../../../src/stores/clickhouse/annotation-table.ts';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { createCrosstabStore } from '../../../../src/stores/clickhouse/counts/crosstab.ts';
import { createSurveySizes } from '../../../../src/stores/clickhouse/counts/plan-context.ts';
import { createTotalsStore } from '../../../../src/stores/clickhouse/counts/totals.ts';
import { createResponseStore } from '../../../../src/stores/clickhouse/responses.ts';
import { migrateClickHouse } from '../../../../src/stores/clickhouse/schema/migrate.ts';
import { sqlString } from '../../../../src/stores/clickhouse/sql-literals.ts';
import { createIdempotencyRecords } from '../../../../src/stores/clickhouse/write/idempotency-records.ts';
import { eraseAllDeleted } from '../../../support/erase-all-deleted.ts';
import { type ResponseDatabase, responseLine, useResponseDatabase } from '../../../support/response-database.ts';

let database: ResponseDatabase;

useResponseDatabase((opened) => {
  database = opened;
});

/** Writes down what would change a cluster, and answers as an empty one. */
function recordStatements() {
  const statements: string[] = [];
  const record = async (sql: string) => void statements.push(sql);
  const clickhouse: ClickHouse = {
    ...database.clickhouse,
    command: record,
    insert: record,
    select: async () => [],
  };
  return { clickhouse, statements };
}

const formatted = async (statement: string): Promise<string> => {
  const [row] = await database.clickhouse.select<[string]>(
    `SELECT formatQuerySingleLine(${sqlString(statement.replace(/FORMAT JSONCompactEachRow$/, 'VALUES'))})`,
  );
  return row?.[0] ?? '';
};

test('on a cluster the schema is created on every server, with replicated rows and a table over all shards', async () => {
  const { clickhouse, statements } = recordStatements();
  await migrateClickHouse(clickhouse, { cluster: 'main-cluster' });
  const parsed = await Promise.all(statements.map(formatted));
  const changes = parsed.filter((statement) => !statement.startsWith('INSERT'));
  const made = Array.from({ length: 5 }, () => 'CREATE TABLE');
  assert.deepEqual(
    changes.map((statement) => /^(CREATE|ALTER) (DATABASE|TABLE)/.exec(statement)?.[0]),
    [
      'CREATE DATABASE',
      ...made,
      ...['ALTER TABLE', 'ALTER TABLE', 'CREATE TABLE', 'CREATE TABLE'],
      ...['ALTER TABLE', 'ALTER TABLE', 'ALTER TABLE'],
    ],
  );
  for (const statement of changes) assert.match(statement, /ON CLUSTER `main-cluster`/);
  const [
    ,
    ,
    local = '',
    distributed = '',
    findings = '',
    allFindings = '',
    merges = '',
    deduplication = '',
    records = '',
    allRecords = '',
    erasing = '',
    replies = '',
    allReplies = '',
  ] = changes;
  assert.match(
    local,
    /responses_local.*ENGINE = ReplicatedReplacingMergeTree\('\/clickhouse\/tables\/\{shard\}\/[^']+', '\{replica\}', version, is_deleted\)/,
  );
  assert.match(
    distributed,
    new RegExp(
      `ENGINE = Distributed\\('main-cluster', '${database.clickhouse.database}', 'responses_local', cityHash64\\(response_id\\)\\)`,
    ),
  );
  // Beside the responses that they are of.
  assert.match(
    findings,
    /findings_local.*ENGINE = ReplicatedMergeTree\('\/clickhouse\/tables\/\{shard\}\/[^']+\/findings', '\{replica\}'\)/,
  );
  assert.match(
    allFindings,
    new RegExp(
      `ENGINE = Distributed\\('main-cluster', '${database.clickhouse.database}', 'findings_local', cityHash64\\(response_id\\)\\)`,
    ),
  );
  assert.match(merges, /responses_local.*merge_selector_base = 15/);
  assert.match(
    records,
    /idempotency_records_local.*ENGINE = ReplicatedReplacingMergeTree\('\/clickhouse\/tables\/\{shard\}\/[^']+\/idempotency_records', '\{replica\}', accepted_at\)/,
  );
  assert.match(
    allRecords,
    new RegExp(
      `ENGINE = Distributed\\('main-cluster', '${database.clickhouse.database}', 'idempotency_records_local', cityHash64\\(hash\\)\\)`,
    ),
  );
  assert.match(deduplication, /responses_local.*replicated_deduplication_window = 0/);
  assert.match(erasing, /responses_local.*lightweight_mutation_projection_mode = 'rebuild'/);
  assert.match(replies, /idempotency_records_local .*ADD COLUMN IF NOT EXISTS `?reply/);
  assert.match(allReplies, /\.idempotency_records ON CLUSTER .*ADD COLUMN IF NOT EXISTS `?reply/);
});

test('on a cluster new columns are added to the local tables first, then to the distributed one', async () => {
  const { clickhouse, statements } = recordStatements();
  await createResponseStore({ clickhouse, cluster: 'c' }).insertBatch({
    lines: Buffer.from(responseLine({ surveyId: newId() })),
    rows: 1,
    codeColumns: 70,
  });
  const [local = '', over = '', setting = '', insert = ''] = await Promise.all(statements.map(formatted));
  assert.match(setting, /^ALTER TABLE \S+responses_local ON CLUSTER c \(?MODIFY SETTING/);
  assert.match(local, /^ALTER TABLE \S+responses_local ON CLUSTER c .*ADD COLUMN IF NOT EXISTS `?c64`? UInt16/s);
  assert.match(over, /^ALTER TABLE \S+\.responses ON CLUSTER c .*ADD COLUMN IF NOT EXISTS `?c127`? UInt16/s);
  assert.match(insert, /^INSERT INTO \S+\.responses .*distributed_foreground_insert = 1/s);
});

test('on a cluster erasing removes rows on every server', async () => {
  const { clickhouse, statements } = recordStatements();
  const responses = createResponseStore({
    clickhouse: { ...clickhouse, select: (async () => [['202601', 5]]) as unknown as ClickHouse['select'] },
    cluster: 'c',
  });
  await responses.eraseSurvey(newId());
  await eraseAllDeleted(responses);
  const [survey = '', rows = '', mask = ''] = await Promise.all(statements.map(formatted));
  assert.match(survey, /^DELETE FROM \S+responses_local ON CLUSTER c WHERE/);
  assert.match(
    rows,
    /^ALTER TABLE \S+responses_local ON CLUSTER c \(?DELETE IN PARTITION ID '202601' WHERE .*SELECT .* FROM \S+responses_local WHERE/,
  );
  assert.match(mask, /^ALTER TABLE \S+responses_local ON CLUSTER c \(?APPLY DELETED MASK IN PARTITION ID '202601'/);
});

test('on a cluster annotations are stored before the reply, on the server that has their response', async () => {
  const { clickhouse, statements } = recordStatements();
  const table = createAnnotationTable({ clickhouse, cluster: 'c' });
  const [surveyId, edition, responseId, questionId] = [newId(), newId(), newId(), newId()];
  await table.insert({ surveyId, edition }, [[{ responseId, questionId, values: ['mixed'] }]]);
  await table.removeDeleted();
  const [insert = '', removal = ''] = await Promise.all(statements.map(formatted));
  assert.match(insert, /^INSERT INTO \S+\.findings .*distributed_foreground_insert = 1/s);
  assert.match(
    removal,
    /^ALTER TABLE \S+findings_local ON CLUSTER c \(?DELETE WHERE .*IN \(SELECT survey_id, response_id FROM \S+responses_local WHERE is_deleted = 1\)/,
  );
});

test('on a cluster idempotency records are stored before the reply, on the server of their hash', async () => {
  const { clickhouse, statements } = recordStatements();
  await createIdempotencyRecords(clickhouse, { cluster: 'c' }).insert(Buffer.from('[]'));
  assert.match(
    await formatted(statements[0] ?? ''),
    /^INSERT INTO \S+\.idempotency_records .*distributed_foreground_insert = 1/s,
  );
});

test('on a cluster every count merges versions by itself, whatever was stored between the parts of its statement', async () => {
  const [surveyId, responseId] = [newId(), newId()];
  const line = (version: number, code: number) => responseLine({ surveyId, responseId, version, codes: [code] });
  await database.store([line(1, 1), responseLine({ surveyId, codes: [1] })]);
  await database.store([line(2, 2)]);
  const statements: string[] = [];
  const clickhouse: ClickHouse = {
    ...database.clickhouse,
    select: (sql, options) => {
      statements.push(sql);
      return database.clickhouse.select(sql, options);
    },
  };
  const placed = { clickhouse, cluster: 'c' };
  const dimension: Dimension = {
    categories: [1, 2].map((code) => ({ code, value: `${code}`, text: '' })),
    source: { kind: 'code', slot: 0 },
  };
  const sizes = createSurveySizes(database.clickhouse);
  const plan: CountPlan = { base: [0], requests: [{ kind: 'codes', slot: 0 }] };
  const counted = await createTotalsStore({ ...placed, sizes }).countSurvey({
    surveyId,
    plans: [{ questionId: 'q', plan }],
  });
  const crossed = await createCrosstabStore(placed).countCrosstab({ surveyId, rows: dimension, columns: dimension });
  const { total } = await createResponseStore(placed).list({
    surveyId,
    limit: 1,
    conditions: [{ dimension, code: 2 }],
  });
  assert.deepEqual([counted.total, counted.perQuestion.get('q')?.base, crossed.total, total], [2, 2, 2, 1]);
  const counts = statements.filter((statement) => statement.includes(' AS part FROM '));
  assert.equal(counts.length, 3);
  for (const statement of counts) {
    const reads = statement.match(/FROM \S+\.`?responses`?/g) ?? [];
    assert.equal(statement.match(/FROM \S+\.`?responses`? FINAL WHERE/g)?.length, reads.length, statement);
  }
});
