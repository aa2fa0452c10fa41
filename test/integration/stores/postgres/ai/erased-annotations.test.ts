import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readResult } from '../../../../../src/ai/analysis-results.ts';
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
        { ...scope, id: newId(), claim: null },
        responseIds.map((responseId) => ({ responseId, questionId: newId(), digest, content: {}, noteId })),
      );
      await Promise.all(responseIds.map((responseId) => rows.removeOfResponses(scope.surveyId, [responseId])));
    }
    const [left] = await sql<
      { notes: number; findings: number }[]
    >`SELECT (SELECT count(*) FROM ai_notes) AS notes, (SELECT count(*) FROM ai_findings) AS findings`;
    assert.deepEqual({ ...left }, { notes: 0, findings: 0 });
  });

  it('take the summaries along that were made of their notes, and no other results', async () => {
    const { sql } = database;
    const [store, rows, scope] = [createAiStore(sql), createAiAnnotationRows(sql), await scopeOf('summary/test')];
    const { surveyId } = scope;
    const other = { surveyId, topic: 'summary/other' };
    const conclusion = { summary: 'Ann left', insights: [], recommendations: [] };
    for (const { topic } of [scope, other])
      await sql`INSERT INTO ai_jobs ${sql({ id: newId(), owner_id: database.ownerId, survey_id: surveyId, topic, request: {}, status: 'COMPLETED', result: { basis: 'b', conclusion } as never })}`;
    await store.saveSummary(scope, newId(), { basis: 'b', summary: 'Ann left' });
    const [noteId, first, second] = [newId(), newId(), newId()];
    await store.saveNote(scope, { id: noteId, note: 'Ann left, Ben stays' });
    const found = (responseId: string) => ({ responseId, questionId: newId(), digest, content: {}, noteId });
    await store.saveAnnotations({ ...scope, id: newId(), claim: null }, [found(first), found(second)]);
    const left = async () => (await sql`SELECT FROM ai_summaries WHERE survey_id = ${surveyId}`).count;
    const summaryOf = async (of: typeof scope) =>
      (await readResult(store, { ...of, type: 'summary', page: 1, limit: 1 })).data;

    await rows.removeOfResponses(surveyId, [first]);
    assert.equal(await store.lastResult(scope), null);
    assert.deepEqual(await summaryOf(scope), { summary: '', insights: [], recommendations: [] });
    assert.deepEqual(await summaryOf(other), conclusion);
    // The note still tells of the other answer, and so do the summaries below the conclusion.
    assert.equal(await left(), 1);
    await rows.removeOfResponses(surveyId, [second]);
    assert.equal(await left(), 0);
  });

  it('do not return with a batch that is stored after the erasure, which keeps the others', async () => {
    const { sql } = database;
    const [store, rows, scope] = [createAiStore(sql), createAiAnnotationRows(sql), await scopeOf('sentiment/test')];
    const jobId = newId();
    await sql`INSERT INTO ai_jobs ${sql({ id: jobId, owner_id: database.ownerId, survey_id: scope.surveyId, topic: scope.topic, request: {}, status: 'RUNNING' })}`;
    const [erased, kept] = [newId(), newId()];
    await rows.removeOfResponses(scope.surveyId, [erased]);
    await store.saveAnnotations(
      { ...scope, id: jobId, claim: null },
      [erased, kept].map((responseId) => ({
        responseId,
        questionId: newId(),
        digest,
        content: { sentiment: 'neutral' },
      })),
    );
    await store.dropErased(scope, [erased, kept]);
    const left = async () =>
      (await sql<{ id: string }[]>`SELECT response_id AS id FROM ai_findings WHERE survey_id = ${scope.surveyId}`).map(
        ({ id }) => id,
      );
    assert.deepEqual(await left(), [kept]);
    // As a process leaves it that ends between the two.
    await sql`INSERT INTO ai_findings ${sql({ survey_id: scope.surveyId, topic: scope.topic, response_id: erased, question_id: newId(), digest, finding: {}, seen_by: jobId })}`;
    const { surveyId } = scope;
    assert.deepEqual(await rows.findErasedWithAnnotations(), [{ surveyId, responseIds: [erased] }]);
  });

  it('are none of those that have the same response ids in another survey, stored before or since', async () => {
    const { sql } = database;
    const [store, rows] = [createAiStore(sql), createAiAnnotationRows(sql)];
    const [scope, other] = [await scopeOf('summary/test'), await scopeOf('summary/test')];
    const jobId = newId();
    await sql`INSERT INTO ai_jobs ${sql({ id: jobId, owner_id: database.ownerId, survey_id: other.surveyId, topic: other.topic, request: {}, status: 'RUNNING' })}`;
    const [responseId, noteId] = [newId(), newId()];
    await store.saveNote(other, { id: noteId, note: 'what they said' });
    const found = (more: object) => ({ responseId, questionId: newId(), digest, content: {}, ...more });
    await store.saveAnnotations({ ...other, id: jobId, claim: null }, [found({ noteId }), found({})]);
    await rows.removeOfResponses(scope.surveyId, [responseId]);
    await store.saveAnnotations({ ...other, id: jobId, claim: null }, [found({})]);
    await store.dropErased(other, [responseId]);
    const left = async () => [
      (await sql`SELECT FROM ai_findings WHERE survey_id = ${other.surveyId}`).count,
      (await sql`SELECT FROM ai_notes WHERE survey_id = ${other.surveyId}`).count,
    ];
    assert.deepEqual(await left(), [3, 1]);
    assert.deepEqual(await rows.findErased(other.surveyId, [responseId]), []);
    const isOfOther = ({ surveyId }: { surveyId: string }) => surveyId === other.surveyId;
    assert.ok(!(await rows.findErasedWithAnnotations()).some(isOfOther));
    await rows.removeOfResponses(other.surveyId, [responseId]);
    assert.deepEqual(await left(), [0, 0]);
  });
});
