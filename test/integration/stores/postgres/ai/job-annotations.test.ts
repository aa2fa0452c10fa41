import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../../src/platform/ids.ts';
import { createAiStore } from '../../../../../src/stores/postgres/ai/jobs.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../../support/owned-database.ts';

describe('the annotations of an analysis', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  it('are marked, replaced and deleted by the process that claimed the job last, and by no other', async () => {
    const { sql, ownerId } = database;
    const [store, scope, id] = [createAiStore(sql), await analysedSurvey(database, 'summary/test'), newId()];
    await store.findOrCreate({ id, ownerId, ...scope, request: { analysisType: 'summary' } });
    const claim = async () => {
      const claimed = await store.claim(id);
      assert.ok(claimed);
      return { ...scope, id, claim: claimed.claim };
    };
    const late = await claim();
    const earlier = newId();
    const found = (content: object) => ({
      responseId: newId(),
      questionId: newId(),
      digest: Buffer.alloc(16),
      content,
    });
    // More than a page of those that are deleted together.
    const old = Array.from({ length: 2100 }, () => found({ sentiment: 'neutral' }));
    await store.saveAnnotations(late, old, earlier);
    await store.saveNote(scope, { id: newId(), note: 'of no answer' });
    await store.registerThemes(scope, [{ name: 'Food', form: 'food' }]);
    await sql`UPDATE ai_jobs SET updated_at = now() - interval '21 seconds' WHERE id = ${id}`;
    const taken = await claim();
    const [first] = old;
    assert.ok(first);
    const left = async () => {
      const [counts] = await sql`SELECT
        (SELECT count(*) FROM ai_findings WHERE survey_id = ${scope.surveyId}) AS annotations,
        (SELECT count(*) FROM ai_findings WHERE survey_id = ${scope.surveyId} AND seen_by = ${id}) AS seen,
        (SELECT count(*) FROM ai_findings WHERE finding = ${sql.json({ sentiment: 'positive' })}) AS replaced,
        (SELECT count(*) FROM ai_notes WHERE survey_id = ${scope.surveyId}) AS notes,
        (SELECT count(*) FROM ai_themes WHERE survey_id = ${scope.surveyId}) AS themes`;
      return { ...counts };
    };
    const end = async (job: typeof late) => {
      await store.saveAnnotations(job, [{ ...first, content: { sentiment: 'positive' } }], earlier);
      await store.markSeen(job, [`${first.responseId} ${first.questionId}`]);
      await store.dropUnseen(job);
      await store.dropUnusedNotes(job);
      await store.dropUnusedThemes(job);
    };
    await end(late);
    assert.deepEqual(await left(), { annotations: 2100, seen: 0, replaced: 0, notes: 1, themes: 1 });
    const paid = found({ sentiment: 'negative' });
    await store.saveAnnotations(late, [paid]);
    assert.equal((await store.digests(scope, [paid.responseId])).size, 1, 'a reply that is paid for is saved');
    await end(taken);
    assert.deepEqual(await left(), { annotations: 2, seen: 2, replaced: 1, notes: 0, themes: 0 });
    const noteId = newId();
    const recovered = { ...found({}), noteId };
    for (const job of [taken, late]) {
      await store.saveNote(scope, { id: noteId, note: 'of a reply that both have' });
      await store.saveAnnotations(job, [recovered]);
    }
    assert.equal((await store.digests(scope, [recovered.responseId])).size, 1, 'its note is kept');
  });
});
