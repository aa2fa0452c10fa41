import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createPostgres } from '../../../../src/stores/postgres/client.ts';
import { createLogoStore, logoHash } from '../../../../src/stores/postgres/logos.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

describe('the bytes of a logo', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  it('are read as they were stored where the database writes bytes in the form that is called escape', async () => {
    const { surveyId } = await analysedSurvey(database, 'a logo');
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    await database.sql.unsafe(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET bytea_output = 'escape'`);
    const sql = createPostgres(database.url, { log: createLog('error'), poolSize: 1 });
    try {
      const logos = createLogoStore(sql);
      await sql.begin((tx) => logos.save(tx, surveyId, { mediaType: 'image/png', bytes }));
      assert.deepEqual(await logos.find(logoHash(bytes)), { mediaType: 'image/png', bytes });
    } finally {
      await sql.end({ timeout: 2 });
    }
  });
});
