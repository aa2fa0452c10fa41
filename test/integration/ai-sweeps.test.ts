import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { blankSurvey } from '../../src/domain/blank-survey.ts';
import { newId } from '../../src/ids.ts';
import { createAiStore } from '../../src/stores/postgres/ai.ts';
import { createConversationStore } from '../../src/stores/postgres/ai-conversations.ts';
import { createReportStore } from '../../src/stores/postgres/ai-reports.ts';
import { createSuggestionStore } from '../../src/stores/postgres/ai-suggestions.ts';
import { createSurveyStore } from '../../src/stores/postgres/surveys.ts';
import { ownedDatabase, type OwnedDatabase } from '../support/owned-database.ts';

const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000);

describe('what AI leaves behind', () => {
  let database: OwnedDatabase;
  const surveyId = newId();
  before(async () => {
    database = await ownedDatabase();
    await createSurveyStore(database.sql).create(blankSurvey(surveyId, database.ownerId, Date.now()));
  });
  after(() => database?.drop());
  const left = async (table: string): Promise<string[]> => (await database.sql<{ id: string }[]>`SELECT id FROM ${database.sql(table)} ORDER BY id`).map(({ id }) => id);

  it('of jobs goes a month after they are over, but for the last result of each analysis', async () => {
    const { sql } = database;
    const job = async (fields: { topic: string; status: string; days: number; request: Record<string, string>; survey?: string | null }): Promise<string> => {
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

  it('of conversations goes a month after the last turn, or after they were saved', async () => {
    const { sql } = database;
    const store = createConversationStore(sql);
    const begin = async (days: number, savedDays: number | null = null): Promise<string> => {
      const id = newId();
      await store.create({ id, ownerId: database.ownerId, provider: 'openai', turns: [], draft: {}, revision: 1, surveyId: null });
      await sql`UPDATE ai_conversations SET updated_at = ${daysAgo(days)}, saved_at = ${savedDays === null ? null : daysAgo(savedDays)} WHERE id = ${id}`;
      return id;
    };
    await begin(31);
    await begin(40, 31);
    const kept = [await begin(29), await begin(40, 2)];
    assert.equal(await store.sweep(), 2);
    assert.deepEqual(await left('ai_conversations'), kept.sort());
  });

  it('of suggestions goes three months after they were decided, and of reports after a year', async () => {
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
});
