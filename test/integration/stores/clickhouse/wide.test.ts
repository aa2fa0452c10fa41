import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import { migrateClickHouse } from '../../../../src/stores/clickhouse/schema/migrate.ts';
import { type ResponseDatabase, responseLine, useResponseDatabase } from '../../../support/response-database.ts';

let database: ResponseDatabase;
useResponseDatabase((opened) => {
  database = opened;
});

test('a survey of a thousand code positions is stored in few files, beside small surveys', async () => {
  const { clickhouse, responses, store } = database;
  const [wide, narrow] = [newId(), newId()];
  const codes = Array.from({ length: 1000 }, (_, slot) => (slot % 7) + 1);
  assert.deepEqual(await store([responseLine({ surveyId: wide, codes })], { codeColumns: 1000 }), { kind: 'stored' });
  // More than the ten megabytes from which on ClickHouse writes a file, or two, for every column.
  assert.deepEqual(
    await store(
      Array.from({ length: 6000 }, () => responseLine({ surveyId: narrow, codes: [3] })),
      { codeColumns: 1 },
    ),
    { kind: 'stored' },
  );
  const parts = await clickhouse.select<[string, number]>(
    `SELECT part_type, max(rows) FROM system.parts WHERE database = '${clickhouse.database}' AND table = 'responses' AND active GROUP BY part_type`,
  );
  assert.deepEqual(
    parts.map(([type]) => type),
    ['Compact'],
  );
  assert.ok((parts[0]?.[1] ?? 0) >= 6000);
  assert.deepEqual(
    (await responses.list({ surveyId: wide, limit: 1, codeColumns: 1000 })).records[0]?.row.codes,
    codes,
  );
  assert.deepEqual(
    (await responses.list({ surveyId: narrow, limit: 1, codeColumns: 2 })).records[0]?.row.codes,
    [3, 0],
  );
});

test('migrating sets the minimum size of wide parts for an existing table', async () => {
  const { clickhouse } = database;
  const engine = async () =>
    String(
      (
        await clickhouse.select<[string]>(
          `SELECT engine_full FROM system.tables WHERE database = '${clickhouse.database}' AND name = 'responses'`,
        )
      )[0]?.[0],
    );
  assert.match(await engine(), /min_bytes_for_wide_part = 167772160/);
  await clickhouse.command(`ALTER TABLE ${clickhouse.table('responses')} RESET SETTING min_bytes_for_wide_part`);
  assert.doesNotMatch(await engine(), /min_bytes_for_wide_part/);
  await migrateClickHouse(clickhouse);
  assert.match(await engine(), /min_bytes_for_wide_part = 167772160/);
});

test('a table that was replaced by one with fewer columns gets them again without a restart', async () => {
  const { clickhouse, responses, store } = database;
  const surveyId = newId();
  const codes = Array.from({ length: 1000 }, () => 5);
  const batch = () => store([responseLine({ surveyId, codes })], { codeColumns: 1000 });
  assert.deepEqual(await batch(), { kind: 'stored' });
  await clickhouse.command(`DROP TABLE ${clickhouse.table('responses')} SYNC`);
  assert.deepEqual(await migrateClickHouse(clickhouse), ['responses']);
  assert.equal((await batch()).kind, 'retry');
  assert.deepEqual(await batch(), { kind: 'stored' });
  const { records } = await responses.list({ surveyId, limit: 1, codeColumns: 1000 });
  assert.deepEqual(records[0]?.row.codes, codes);
});
