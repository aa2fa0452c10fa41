import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../../src/platform/ids.ts';
import { createAiAnnotationRows } from '../../../../../src/stores/postgres/ai/annotations.ts';
import { createAiStore } from '../../../../../src/stores/postgres/ai/jobs.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../../support/owned-database.ts';

const digest = Buffer.alloc(16);

describe('annotations of erased responses', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());
  const scopeOf = (topic: string) => analysedSurvey(database, topic);

  it('are removed with their note if all responses of the note are erased concurrently', async () => {
    const { sql } = database;
    const [store, rows, scope] = [createAiStore(sql), createAiAnnotationRows(sql), await scopeOf('summary/test')];
    for (let round = 0; round < 20; round += 1) {
      const [noteId, responseIds] = [newId(), Array.from({ length: 8 }, () => newId())];
      await store.saveNote(scope, { id: noteId, note: 'what they said' });
      await store.saveAnnotations(
        scope,
        newId(),
        responseIds.map((responseId) => ({ responseId, questionId: newId(), digest, content: {}, noteId })),
      );
      await Promise.all(responseIds.map((responseId) => rows.removeOfResponses([responseId])));
    }
    const [left] = await sql<
      { notes: number; findings: number }[]
    >`SELECT (SELECT count(*) FROM ai_notes) AS notes, (SELECT count(*) FROM ai_findings) AS findings`;
    assert.deepEqual({ ...left }, { notes: 0, findings: 0 });
  });

  it('do not return with a batch that is stored after the erasure, which keeps the others', async () => {
    const { sql } = database;
    const [store, rows, scope] = [createAiStore(sql), createAiAnnotationRows(sql), await scopeOf('sentiment/test')];
    const jobId = newId();
    await sql`INSERT INTO ai_jobs ${sql({ id: jobId, owner_id: database.ownerId, survey_id: scope.surveyId, topic: scope.topic, request: {}, status: 'RUNNING' })}`;
    const [erased, kept] = [newId(), newId()];
    await rows.removeOfResponses([erased]);
    await store.saveAnnotations(
      scope,
      jobId,
      [erased, kept].map((responseId) => ({
        responseId,
        questionId: newId(),
        digest,
        content: { sentiment: 'neutral' },
      })),
    );
    await store.dropErased([erased, kept]);
    const left = async () =>
      (await sql<{ id: string }[]>`SELECT response_id AS id FROM ai_findings WHERE survey_id = ${scope.surveyId}`).map(
        ({ id }) => id,
      );
    assert.deepEqual(await left(), [kept]);
    // As a process leaves it that ends between the two.
    await sql`INSERT INTO ai_findings ${sql({ survey_id: scope.surveyId, topic: scope.topic, response_id: erased, question_id: newId(), digest, finding: {}, seen_by: jobId })}`;
    assert.deepEqual(await rows.findErasedWithAnnotations(), [erased]);
  });
});
