import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../../src/platform/ids.ts';
import { createSuggestionStore } from '../../../../../src/stores/postgres/ai/suggestions.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../../support/owned-database.ts';

describe('the suggestions for a question', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  it('list the undecided ones whatever was decided before and since, and then the newest, oldest first', async () => {
    const { sql } = database;
    const [questionId, { surveyId }] = [newId(), await analysedSurvey(database, 'summary/test')];
    const suggest = async (count: number, status: string): Promise<string[]> => {
      const ids = Array.from({ length: count }, () => newId());
      const rows = ids.map((id) => ({
        id,
        survey_id: surveyId,
        question_id: questionId,
        aspect: 'bias',
        problem: 'It leads',
        suggestion: sql.json({}),
        basis: sql.json({}),
        status,
      }));
      await sql`INSERT INTO ai_suggestions ${sql(rows)}`;
      return ids;
    };
    const open = await suggest(1, 'PENDING');
    const decided = await suggest(201, 'REJECTED');
    const last = await suggest(2, 'PENDING');
    const listed = (await createSuggestionStore(sql).list(questionId)).map(({ id }) => id);
    assert.deepEqual(listed, [...open, ...decided.slice(-197), ...last]);
  });
});
