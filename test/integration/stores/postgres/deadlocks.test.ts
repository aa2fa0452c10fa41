import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { createUserStore } from '../../../../src/stores/postgres/users.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

/** PostgreSQL says of one of two transactions that each wait for the other: 40P01. */
describe('a removal that is rolled back by a deadlock', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
    await database.sql.unsafe(`
      CREATE SEQUENCE survey_tries;
      CREATE SEQUENCE user_tries;
      CREATE FUNCTION deadlock_once() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval(TG_ARGV[0]::regclass) = 1 THEN RAISE EXCEPTION USING ERRCODE = '40P01'; END IF;
          RETURN coalesce(NEW, OLD);
        END $$;
      CREATE TRIGGER deadlock BEFORE UPDATE OF deleted_at ON surveys
        FOR EACH ROW EXECUTE FUNCTION deadlock_once('survey_tries');
      CREATE TRIGGER deadlock BEFORE DELETE ON users FOR EACH ROW EXECUTE FUNCTION deadlock_once('user_tries')`);
  });
  after(() => database?.drop());

  it('is made again for a survey', async () => {
    const { surveyId } = await analysedSurvey(database, 'themes');
    const surveys = createSurveyStore(database.sql);
    await surveys.remove(surveyId);
    assert.equal(await surveys.load(surveyId), undefined);
  });

  it('is made again for a user', async () => {
    const [adminId, userId] = [newId(), newId()];
    const rows = [
      { id: adminId, email: 'b@example.org', email_key: 'b@example.org', password_hash: '-', role: 'ADMIN' },
      { id: userId, email: 'c@example.org', email_key: 'c@example.org', password_hash: '-', role: 'EDITOR' },
    ];
    await database.sql`INSERT INTO users ${database.sql(rows)}`;
    const users = createUserStore(database.sql);
    assert.equal(await users.remove(userId, { userId: adminId, sessionId: null, keyId: null }), adminId);
    assert.equal(await users.find(userId), undefined);
  });
});
