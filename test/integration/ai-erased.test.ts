import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { blankSurvey } from '../../src/domain/blank-survey.ts';
import { newId } from '../../src/ids.ts';
import { createAiStore } from '../../src/stores/postgres/ai.ts';
import { createAiFindingRows } from '../../src/stores/postgres/ai-findings.ts';
import { createSurveyStore } from '../../src/stores/postgres/surveys.ts';
import { freshDatabase } from '../support/people-server.ts';

const digest = Buffer.alloc(16);

describe('what analyses found in responses that are erased', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  const ownerId = newId();
  before(async () => {
    database = await freshDatabase();
    await database.sql`INSERT INTO users ${database.sql({ id: ownerId, email: 'a@example.org', email_key: 'a@example.org', password_hash: '-', role: 'EDITOR' })}`;
  });
  after(() => database?.drop());
  const scopeOf = async (topic: string) => {
    const surveyId = newId();
    await createSurveyStore(database.sql).create(blankSurvey(surveyId, ownerId, Date.now()));
    return { surveyId, topic };
  };

  it('goes with its note when all responses of the note are erased side by side', async () => {
    const { sql } = database;
    const [store, rows, scope] = [createAiStore(sql), createAiFindingRows(sql), await scopeOf('summary/test')];
    for (let round = 0; round < 20; round += 1) {
      const [noteId, responseIds] = [newId(), Array.from({ length: 8 }, () => newId())];
      await store.saveNote(scope, { id: noteId, note: 'what they said' });
      await store.saveFindings(scope, newId(), responseIds.map((responseId) => ({ responseId, questionId: newId(), digest, finding: {}, noteId })));
      await Promise.all(responseIds.map((responseId) => rows.removeOfResponses([responseId])));
    }
    const [left] = await sql<{ notes: number; findings: number }[]>`SELECT (SELECT count(*) FROM ai_notes) AS notes, (SELECT count(*) FROM ai_findings) AS findings`;
    assert.deepEqual({ ...left }, { notes: 0, findings: 0 });
  });
});
