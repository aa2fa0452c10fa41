import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createPostgres, type Sql } from '../../../../src/stores/postgres/client.ts';
import { postgres } from '../../../../src/stores/postgres/driver.ts';
import { migratePostgres } from '../../../../src/stores/postgres/migrate.ts';
import { valueTypes } from '../../../../src/stores/postgres/value-types.ts';
import { freshDatabase } from '../../../support/auth-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { analysedSurvey, ownedDatabase } from '../../../support/owned-database.ts';

const log = createLog('silent');

/** How many connections to this database wait for a lock. */
const waitingForLocks = async (sql: Sql): Promise<number> =>
  (await sql`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`).count;

describe('a process that migrates PostgreSQL', () => {
  it('migrates an empty database once, however many processes start at once', async () => {
    const database = await freshDatabase();
    await database.sql.unsafe('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    const pools = Array.from({ length: 4 }, () => createPostgres(database.url, { log }));
    await Promise.all(pools.map((sql) => migratePostgres(sql)));
    const [row] = await database.sql<
      { all: number; names: number }[]
    >`SELECT count(*) AS all, count(DISTINCT name) AS names FROM migrations`;
    assert.ok(row && row.all > 10 && row.all === row.names);
    await Promise.all(pools.map((sql) => sql.end()));
    await database.drop();
  });

  it('waits for a process that migrates, however long it takes', async () => {
    const database = await freshDatabase();
    const hasty: Sql = postgres(database.url, {
      max: 1,
      connection: { lock_timeout: 500, statement_timeout: 1000, application_name: 'hasty' },
      types: valueTypes,
    });
    const other = await database.sql.reserve();
    await other`SELECT pg_advisory_lock(7203514)`;
    const migrated = migratePostgres(hasty).then(() => 'migrated', String);
    const waitsForLong = async () =>
      (
        await database.sql`SELECT FROM pg_stat_activity WHERE application_name = 'hasty' AND query LIKE '%pg_try_advisory_lock%' AND backend_start < now() - interval '1500 ms'`
      ).count;
    await Promise.race([eventually(async () => assert.equal(await waitsForLong(), 1)), migrated]);
    await other`SELECT pg_advisory_unlock(7203514)`;
    other.release();
    assert.equal(await migrated, 'migrated');
    const [left] = await hasty<
      { lock: string; statement: string }[]
    >`SELECT current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS statement`;
    assert.deepEqual({ ...left }, { lock: '500ms', statement: '1s' });
    await hasty.end();
    await database.drop();
  });

  it('builds an index while others write, also behind a long transaction, and again after an interruption', async () => {
    const database = await freshDatabase();
    const { sql } = database;
    const write = (db: Pick<Sql, 'unsafe'>) =>
      db.unsafe(
        `INSERT INTO audit (actor_kind, action, object_kind, object_id, details) VALUES ('SYSTEM', 'x', 'x', 'x', '{"surveyId": "s"}')`,
      );
    const isValid = async () =>
      (
        await sql<
          { valid: boolean }[]
        >`SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('audit_survey')`
      )[0]?.valid;
    await sql`UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass('audit_survey')`;
    await sql`DELETE FROM migrations WHERE name = '084_audit_of_surveys.sql'`;
    let migrated: Promise<void> = Promise.resolve();
    await sql
      .begin(async (slow) => {
        await write(slow);
        migrated = migratePostgres(sql);
        await eventually(async () => assert.equal(await waitingForLocks(sql), 1));
        await sql.begin(async (other) => {
          await other`SET LOCAL lock_timeout = '500ms'`;
          await write(other);
        });
      })
      .finally(() => migrated);
    assert.equal(await isValid(), true);
    await database.drop();
  });

  it('waits for a table that a long transaction holds without keeping readers from it', async () => {
    const database = await freshDatabase();
    const { sql } = database;
    await sql`ALTER TABLE surveys DROP COLUMN anonymous_until`;
    await sql`DELETE FROM migrations WHERE name = '160_anonymous_until.sql'`;
    const reader: Sql = postgres(database.url, { max: 1, connection: { lock_timeout: 10_000 } });
    let migrated: Promise<void> = Promise.resolve();
    await sql
      .begin(async (long) => {
        await long`SELECT FROM surveys`;
        migrated = migratePostgres(sql);
        await eventually(async () => assert.equal(await waitingForLocks(sql), 1));
        assert.equal((await reader`SELECT FROM surveys`).count, 0);
      })
      .finally(() => migrated);
    const [column] = await sql`SELECT FROM information_schema.columns
      WHERE table_name = 'surveys' AND column_name = 'anonymous_until'`;
    assert.ok(column);
    await reader.end();
    await database.drop();
  });

  /** A published survey with a question of its second version, in a database that knows no first versions yet. */
  async function withoutFirstVersions() {
    const database = await ownedDatabase();
    const { sql } = database;
    const { surveyId } = await analysedSurvey(database, 'themes');
    const questionId = newId();
    const publishedAt = new Date(Date.now() - 60_000);
    await sql`UPDATE surveys SET published_at = ${publishedAt}, version = 2 WHERE id = ${surveyId}`;
    await sql`INSERT INTO questions (id, survey_id, type, text, is_required, position, options, rows, settings, slots)
      VALUES (${questionId}, ${surveyId}, 'NPS', 'How likely?', false, 1, '[]', '[]', '{}', '{}')`;
    await sql`DELETE FROM survey_versions`;
    for (const [version, questions] of [[], [{ id: questionId }]].entries())
      await sql`INSERT INTO survey_versions (survey_id, version, definition, created_at)
        VALUES (${surveyId}, ${version + 1}, ${sql.json({ questions })}, ${new Date(publishedAt.getTime() + version)})`;
    await sql`ALTER TABLE questions DROP COLUMN first_version`;
    await sql`DELETE FROM migrations WHERE name LIKE '%first_versions%'`;
    const firstVersion = async () => (await sql`SELECT first_version FROM questions`)[0]?.['first_version'];
    return { database, firstVersion };
  }

  it('keeps no reader from the questions while it reads every version of every survey for them', async () => {
    const { database, firstVersion } = await withoutFirstVersions();
    const { sql } = database;
    let migrated: Promise<void> = Promise.resolve();
    await sql
      .begin(async (holder) => {
        await holder`LOCK TABLE survey_versions IN ACCESS EXCLUSIVE MODE`;
        migrated = migratePostgres(sql);
        await eventually(async () => assert.equal(await waitingForLocks(sql), 1));
        await sql.begin(async (reader) => {
          await reader`SET LOCAL lock_timeout = '500ms'`;
          assert.equal((await reader`SELECT FROM questions`).count, 1);
        });
      })
      .finally(() => migrated);
    assert.equal(await firstVersion(), 2);
    await database.drop();
  });

  it('leaves the first versions of questions as they are where a former version has filled them', async () => {
    const { database, firstVersion } = await withoutFirstVersions();
    const { sql } = database;
    await sql`ALTER TABLE questions ADD COLUMN first_version integer`;
    await sql`INSERT INTO migrations (name) VALUES ('151_first_versions.sql')`;
    await migratePostgres(sql);
    assert.equal(await firstVersion(), null);
    await database.drop();
  });
});
