import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../../src/platform/ids.ts';
import { createAiAnnotationRows } from '../../../../../src/stores/postgres/ai/annotations.ts';
import { createAiStore } from '../../../../../src/stores/postgres/ai/jobs.ts';
import { migratePostgres } from '../../../../../src/stores/postgres/migrate.ts';
import { eventually } from '../../../../support/eventually.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../../support/owned-database.ts';

const digest = Buffer.alloc(16);

describe('notes on batches of answers', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  const openScope = (topic: string) => analysedSurvey(database, topic);
  const foundIn = (noteId?: string, content: unknown = {}) => ({
    responseId: newId(),
    questionId: newId(),
    digest,
    content,
    noteId,
  });

  it('with ids that have no time keep their order and answers, and come before all later ones', async () => {
    const { sql } = database;
    const [store, scope] = [createAiStore(sql), await openScope('summary/test')];
    const add = async (id: string, note: string) => {
      await store.saveNote(scope, { id, note });
      await store.saveAnnotations({ ...scope, id: newId(), claim: null }, [foundIn(id)]);
    };
    const migrated = Array.from({ length: 300 }, () => randomUUID()).sort();
    for (const [index, id] of migrated.entries()) await add(id, `note ${index}`);
    await add(newId(), 'new');
    await sql`DELETE FROM migrations WHERE name = '082_ai_notes_in_order.sql'`;
    await migratePostgres(sql);
    await add(newId(), 'newer');
    // Notes that annotations refer to.
    const noted: string[] = [];
    for await (const note of store.listNotes(scope)) noted.push(note);
    assert.deepEqual(noted, [...migrated.map((_, index) => `note ${index}`), 'new', 'newer']);
  });

  it('are put in order after a running erasure, and an erasure that begins meanwhile finds them', async () => {
    const { sql } = database;
    const [store, scope] = [createAiStore(sql), await openScope('summary/test')];
    const [first, second] = [foundIn(randomUUID()), foundIn(randomUUID())];
    for (const found of [first, second]) {
      await store.saveNote(scope, { id: found.noteId ?? '', note: 'what they said' });
      await store.saveAnnotations({ ...scope, id: newId(), claim: null }, [found]);
    }
    const waiting = (count: number) =>
      eventually(
        async () =>
          assert.ok(
            (await sql`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)
              .count >= count,
          ),
        30_000,
        5,
      );
    await sql`DELETE FROM migrations WHERE name = '082_ai_notes_in_order.sql'`;
    let others: Promise<unknown> = Promise.resolve();
    await sql
      .begin(async (tx) => {
        await tx`SELECT FROM ai_notes WHERE id = ${first.noteId ?? ''} FOR UPDATE`;
        const ordering = migratePostgres(sql);
        others = ordering;
        await waiting(1);
        const erasing = createAiAnnotationRows(sql).removeOfResponses(scope.surveyId, [second.responseId]);
        others = Promise.all([ordering, erasing]);
        await waiting(2);
        await tx`DELETE FROM ai_findings WHERE response_id = ${first.responseId}`;
        await tx`DELETE FROM ai_notes WHERE id = ${first.noteId ?? ''}`;
      })
      .finally(() => others);
    assert.equal((await sql`SELECT FROM ai_notes WHERE survey_id = ${scope.surveyId}`).count, 0);
  });

  it('are requested again for answers without a note, as an older version leaves them beside a newer one', async () => {
    const [store, scope] = [createAiStore(database.sql), await openScope('summary/test')];
    const noteId = newId();
    await store.saveNote(scope, { id: noteId, note: 'what they said' });
    const [known, older, lost] = [foundIn(noteId), foundIn(undefined, { note: 'what they said' }), foundIn(newId())];
    await store.saveAnnotations({ ...scope, id: newId(), claim: null }, [known, older, lost]);
    const digests = await store.digests(
      scope,
      [known, older, lost].map(({ responseId }) => responseId),
    );
    assert.deepEqual([...digests.keys()], [`${known.responseId} ${known.questionId}`]);
  });

  it('and summaries, theme names and annotations are not stored for a survey that was deleted meanwhile', async () => {
    const { sql } = database;
    const [store, scope] = [createAiStore(sql), await openScope('themes/test')];
    await sql`UPDATE surveys SET deleted_at = now() WHERE id = ${scope.surveyId}`;
    await store.saveNote(scope, { id: newId(), note: 'what they said' });
    await store.saveSummary(scope, newId(), { basis: 'b', summary: 's' });
    assert.deepEqual(await store.registerThemes(scope, [{ name: 'Soup', form: 'soup' }]), new Map());
    await store.saveAnnotations({ ...scope, id: newId(), claim: null }, [
      foundIn(undefined, { themes: ['Soup'], sentiment: 'neutral' }),
    ]);
    for (const table of ['ai_notes', 'ai_summaries', 'ai_themes', 'ai_findings'])
      assert.deepEqual(
        [table, (await sql`SELECT FROM ${sql(table)} WHERE survey_id = ${scope.surveyId}`).count],
        [table, 0],
      );
  });

  it('wait for a running deletion, and are then not stored', async () => {
    const { sql } = database;
    const [store, scope] = [createAiStore(sql), await openScope('summary/test')];
    let saving: Promise<unknown> = Promise.resolve();
    await sql.begin(async (tx) => {
      await tx`UPDATE surveys SET deleted_at = now() WHERE id = ${scope.surveyId}`;
      let isOver = false;
      saving = Promise.all([
        store.saveSummary(scope, newId(), { basis: 'b', summary: 's' }),
        store.saveAnnotations({ ...scope, id: newId(), claim: null }, [foundIn(undefined, { sentiment: 'neutral' })]),
      ]).finally(() => {
        isOver = true;
        return isOver;
      });
      await eventually(
        async () =>
          assert.ok(
            isOver ||
              (await sql`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)
                .count >= 2,
          ),
        30_000,
        5,
      );
      assert.equal(isOver, false);
    });
    await saving;
    const [left] = await sql<
      { rows: number }[]
    >`SELECT (SELECT count(*) FROM ai_summaries WHERE survey_id = ${scope.surveyId}) + (SELECT count(*) FROM ai_findings WHERE survey_id = ${scope.surveyId}) AS rows`;
    assert.equal(left?.rows, 0);
  });
});
