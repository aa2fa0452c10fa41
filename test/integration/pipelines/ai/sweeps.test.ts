import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { createPageCursor } from '../../../../src/pipelines/schedule.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createAiAnnotationRows } from '../../../../src/stores/postgres/ai/annotations.ts';
import { createConversationStore } from '../../../../src/stores/postgres/ai/conversations.ts';
import { createAiStore, transferAiJobs } from '../../../../src/stores/postgres/ai/jobs.ts';
import { createReportStore } from '../../../../src/stores/postgres/ai/reports.ts';
import { createSuggestionStore } from '../../../../src/stores/postgres/ai/suggestions.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { createUserStore } from '../../../../src/stores/postgres/users.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000);

describe('retention of AI data', () => {
  let database: OwnedDatabase;
  const surveyId = newId();
  before(async () => {
    database = await ownedDatabase();
    await createSurveyStore(database.sql).create(blankSurvey(surveyId, database.ownerId, Date.now()));
  });
  after(() => database?.drop());
  const left = async (table: string): Promise<string[]> =>
    (await database.sql<{ id: string }[]>`SELECT id FROM ${database.sql(table)} ORDER BY id`).map(({ id }) => id);

  it('jobs are removed a month after their end, except the last result of each analysis', async () => {
    const { sql } = database;
    const job = async (fields: {
      topic: string;
      status: string;
      days: number;
      request: Record<string, string>;
      survey?: string | null;
    }): Promise<string> => {
      const { topic, status, days, request, survey = surveyId } = fields;
      const id = newId();
      await sql`INSERT INTO ai_jobs ${sql({ id, owner_id: database.ownerId, survey_id: survey, topic, request: sql.json(request), status, updated_at: daysAgo(days) })}`;
      return id;
    };
    const analysis = { analysisType: 'sentiment' };
    await job({ topic: 'a', status: 'COMPLETED', days: 50, request: analysis });
    const last = await job({ topic: 'a', status: 'COMPLETED', days: 40, request: analysis });
    await job({ topic: 'a', status: 'FAILED', days: 35, request: analysis });
    const recent = await job({ topic: 'a', status: 'CANCELLED', days: 29, request: analysis });
    await job({ topic: 'translate/x', status: 'COMPLETED', days: 31, request: { work: 'translate' } });
    await job({ topic: 'generate/x', status: 'COMPLETED', days: 31, request: {}, survey: null });
    const open = await job({ topic: 'b', status: 'RUNNING', days: 60, request: analysis });
    assert.equal(await createAiStore(sql).sweep(), 4);
    assert.deepEqual(await left('ai_jobs'), [last, recent, open].sort());
  });

  it('conversations are removed a month after the last turn, or after they were saved', async () => {
    const { sql } = database;
    const store = createConversationStore(sql);
    const begin = async (days: number, savedDays: number | null = null): Promise<string> => {
      const id = newId();
      await store.create({
        id,
        ownerId: database.ownerId,
        provider: 'openai',
        turns: [],
        draft: {},
        revision: 1,
        surveyId: null,
      });
      await sql`UPDATE ai_conversations SET updated_at = ${daysAgo(days)}, saved_at = ${savedDays === null ? null : daysAgo(savedDays)} WHERE id = ${id}`;
      return id;
    };
    await begin(31);
    await begin(40, 31);
    const kept = [await begin(29), await begin(40, 2)];
    assert.equal(await store.sweep(), 2);
    assert.deepEqual(await left('ai_conversations'), kept.sort());
  });

  it('all abandoned jobs are found in turn, even if many cannot be resumed', async () => {
    const { sql } = database;
    const store = createAiStore(sql);
    const ids = Array.from({ length: 7 }, () => newId());
    // Newest first, which is the order that they lie in.
    for (const id of ids.toReversed())
      await sql`INSERT INTO ai_jobs ${sql({ id, owner_id: database.ownerId, survey_id: surveyId, topic: id, request: {}, status: 'RUNNING', updated_at: daysAgo(1) })}`;
    const next = createPageCursor(store.listStale, { limit: 3, cursorOf: ({ id }) => id });
    const others = (await store.listStale(undefined, 100)).length - ids.length;
    for (const when of ['at first', 'and again']) {
      const found: string[] = [];
      for (let turn = 0; turn <= Math.floor((others + ids.length) / 3); turn += 1)
        found.push(...(await next()).map(({ id }) => id));
      assert.deepEqual(
        found.filter((id) => ids.includes(id)),
        ids,
        when,
      );
    }
    await sql`DELETE FROM ai_jobs WHERE id = ANY(${ids}::uuid[])`;
  });

  it('suggestions are removed three months after their decision, and reports after a year', async () => {
    const { sql } = database;
    const suggest = async (status: string, days: number | null): Promise<string> => {
      const id = newId();
      const decided = days === null ? null : daysAgo(days);
      await sql`INSERT INTO ai_suggestions ${sql({ id, survey_id: surveyId, question_id: newId(), aspect: 'bias', problem: 'It leads', suggestion: sql.json({}), basis: sql.json({}), status, decided_at: decided, created_at: daysAgo(400) })}`;
      return id;
    };
    await suggest('ACCEPTED', 91);
    await suggest('REJECTED', 91);
    const kept = [await suggest('ACCEPTED', 89), await suggest('PENDING', null)];
    assert.equal(await createSuggestionStore(sql).sweep(), 2);
    assert.deepEqual(await left('ai_suggestions'), kept.sort());
    const reports = createReportStore(sql);
    const [old, young] = [newId(), newId()];
    await reports.save({ id: old, surveyId, content: {}, createdAt: daysAgo(366) });
    await reports.save({ id: young, surveyId, content: {}, createdAt: daysAgo(364) });
    assert.equal(await reports.sweep(), 1);
    assert.deepEqual(await left('ai_reports'), [young]);
  });

  it('AI data of a deleted user stays for surveys of others, and is removed without a survey', async () => {
    const { sql, ownerId } = database;
    const [guest, heir] = [newId(), newId()];
    for (const [id, role] of [
      [guest, 'EDITOR'],
      [heir, 'ADMIN'],
    ] as const)
      await sql`INSERT INTO users ${sql({ id, email: `${id}@example.org`, email_key: `${id}@example.org`, password_hash: '-', role })}`;
    const own = newId();
    await createSurveyStore(sql).create(blankSurvey(own, guest, Date.now()));
    const job = async (survey: string | null): Promise<string> => {
      const id = newId();
      await sql`INSERT INTO ai_jobs ${sql({ id, owner_id: guest, survey_id: survey, topic: id, request: sql.json({ analysisType: 'sentiment' }), status: 'COMPLETED' })}`;
      return id;
    };
    const [ofOwner, ofGuest, ofNone] = [await job(surveyId), await job(own), await job(null)];
    await createUserStore(sql, transferAiJobs).remove(guest, { userId: heir, sessionId: null, keyId: null });
    const owners = new Map(
      (await sql<{ id: string; owner: string }[]>`SELECT id, owner_id AS owner FROM ai_jobs`).map(({ id, owner }) => [
        id,
        owner,
      ]),
    );
    assert.deepEqual([owners.get(ofOwner), owners.get(ofGuest), owners.has(ofNone)], [ownerId, heir, false]);
  });

  it('all AI data of a deleted survey is removed, and none of another', async () => {
    const { sql, ownerId } = database;
    const gone = newId();
    await createSurveyStore(sql).create(blankSurvey(gone, ownerId, Date.now()));
    const fill = async (survey: string): Promise<void> => {
      const [id, topic] = [newId(), 'of both'];
      await sql`INSERT INTO ai_jobs ${sql({ id, owner_id: ownerId, survey_id: survey, topic, request: sql.json({ analysisType: 'summary' }), status: 'COMPLETED', result: sql.json({ summary: 'They said' }) })}`;
      await sql`INSERT INTO ai_suggestions ${sql({ id, survey_id: survey, question_id: newId(), aspect: 'bias', problem: 'It leads', suggestion: sql.json({}), basis: sql.json({}) })}`;
      await createReportStore(sql).save({ id, surveyId: survey, content: {}, createdAt: new Date() });
    };
    await fill(gone);
    await fill(surveyId);
    const counts = async (survey: string) =>
      Promise.all(
        ['ai_jobs', 'ai_suggestions', 'ai_reports'].map(async (table) =>
          Number((await sql`SELECT count(*) AS n FROM ${sql(table)} WHERE survey_id = ${survey}`)[0]?.['n']),
        ),
      );
    const before = await counts(surveyId);
    await createAiAnnotationRows(sql).removeOfSurvey(gone);
    assert.deepEqual([await counts(gone), await counts(surveyId)], [[0, 0, 0], before]);
  });

  it('suggestions and reports are not stored for a survey that was deleted meanwhile', async () => {
    const { sql } = database;
    const { surveyId: gone } = await analysedSurvey(database, 'report');
    const [reports, suggestions] = [createReportStore(sql), createSuggestionStore(sql)];
    const store = async (): Promise<[number, number]> => {
      const [id, questionId] = [newId(), newId()];
      await reports.save({ id, surveyId: gone, content: {}, createdAt: new Date() });
      const suggestion = {
        id,
        surveyId: gone,
        questionId,
        aspect: 'bias',
        problem: 'It leads',
        applied: null,
      } as const;
      const wording = { text: 'Did you like it?', options: [], rows: [] };
      await suggestions.replaceOpen({ surveyId: gone, questionId }, [
        { ...suggestion, suggestion: { text: 'How was it?' }, basis: wording, status: 'PENDING' },
      ]);
      return [
        (await sql`SELECT FROM ai_reports WHERE id = ${id}`).count,
        (await sql`SELECT FROM ai_suggestions WHERE id = ${id}`).count,
      ];
    };
    assert.deepEqual(await store(), [1, 1]);
    await sql`UPDATE surveys SET deleted_at = now() WHERE id = ${gone}`;
    assert.deepEqual(await store(), [0, 0]);
  });
});
