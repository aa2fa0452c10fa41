import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createAiAnnotationRows } from '../../../../src/stores/postgres/ai/annotations.ts';
import { createPostgres, type Sql } from '../../../../src/stores/postgres/client.ts';
import { createInvitationStore } from '../../../../src/stores/postgres/invitations.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

/** How long a statement may take in place of 10 s, and how long a removal takes. */
const [statementTimeoutMs, removalSeconds] = [1000, 1.5];

describe('the removal of what belongs to a deleted survey', () => {
  let database: OwnedDatabase;
  let hasty: Sql;
  before(async () => {
    database = await ownedDatabase();
    hasty = createPostgres(database.url, { log: createLog('error'), poolSize: 1 });
    await hasty.unsafe(`SET statement_timeout = ${statementTimeoutMs}`);
    await database.sql.unsafe(`
      CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM pg_sleep(${removalSeconds}); RETURN NULL; END $$;
      CREATE TRIGGER slow BEFORE DELETE ON ai_findings EXECUTE FUNCTION take_long();
      CREATE TRIGGER slow BEFORE DELETE ON invitations EXECUTE FUNCTION take_long();`);
  });
  after(async () => {
    await hasty?.end({ timeout: 2 });
    await database?.drop();
  });

  it('may take longer than other statements for what AI has made of its answers', async () => {
    const { surveyId } = await analysedSurvey(database, 'themes');
    await database.sql`INSERT INTO ai_findings (survey_id, topic, response_id, question_id, digest, finding, seen_by)
      VALUES (${surveyId}, 'themes', ${newId()}, ${newId()}, '\\x00', '{}', ${newId()})`;
    await createAiAnnotationRows(hasty).removeOfSurvey(surveyId);
    assert.equal((await database.sql`SELECT FROM ai_findings WHERE survey_id = ${surveyId}`).count, 0);
  });

  it('may take longer than other statements for its invitations', async () => {
    const { surveyId } = await analysedSurvey(database, 'themes');
    const [collector] = await database.sql<{ id: string }[]>`SELECT id FROM collectors WHERE survey_id = ${surveyId}`;
    const invitations = createInvitationStore(hasty);
    await invitations.add({ collectorId: collector?.id ?? '', surveyId, at: new Date() }, [
      { id: newId(), tokenHash: Buffer.from('hash'), reference: '', language: null, expiresAt: null, metadata: {} },
    ]);
    await invitations.removeOfSurvey(surveyId);
    assert.equal((await database.sql`SELECT FROM invitations WHERE survey_id = ${surveyId}`).count, 0);
  });
});
