import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createPostgres, type Sql } from '../../../../src/stores/postgres/client.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

const times = [
  '0001-01-01T00:00:00.000Z',
  '0005-06-05T00:00:00.000Z',
  '0030-01-01T00:00:00.000Z',
  '0099-06-05T00:00:00.000Z',
  '1850-01-01T00:00:00.000Z',
  '2030-06-05T10:11:12.123Z',
  '9999-12-31T23:59:59.999Z',
];

describe('the times of a survey', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  /** What is read of each of the times, after it was stored. */
  async function storedAndRead(sql: Sql): Promise<(string | undefined)[]> {
    const store = createSurveyStore(sql);
    return Promise.all(
      times.map(async (time) => {
        const id = newId();
        await store.create({ ...blankSurvey(id, database.ownerId, Date.now()), endsAt: new Date(time) });
        return (await store.load(id))?.endsAt?.toISOString();
      }),
    );
  }

  it('are read as they were stored, in the years 1 to 9999', async () => {
    assert.deepEqual(await storedAndRead(database.sql), times);
  });

  for (const setting of [
    "TimeZone = 'Europe/Berlin'",
    "TimeZone = 'America/New_York'",
    "DateStyle = 'SQL, DMY'",
    "DateStyle = 'German'",
  ])
    it(`are read as they were stored where the database has ${setting}`, async () => {
      const name = new URL(database.url).pathname.slice(1);
      await database.sql.unsafe(`ALTER DATABASE ${name} SET ${setting}`);
      const sql = createPostgres(database.url, { log: createLog('error'), poolSize: 2 });
      try {
        assert.deepEqual(await storedAndRead(sql), times);
      } finally {
        await sql.end({ timeout: 2 });
        await database.sql.unsafe(`ALTER DATABASE ${name} RESET ALL`);
      }
    });
});
