import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../src/platform/ids.ts';
import { createAnnotations } from '../../../src/stores/annotations.ts';
import { createAnnotationTable } from '../../../src/stores/clickhouse/annotation-table.ts';
import { createAiAnnotationRows } from '../../../src/stores/postgres/ai/annotations.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../support/owned-database.ts';
import { type ResponseDatabase, useResponseDatabase } from '../../support/response-database.ts';

describe('the annotations that names stand for', () => {
  let responses: ResponseDatabase;
  let database: OwnedDatabase;
  useResponseDatabase((opened) => {
    responses = opened;
  });
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  it('are read by two statements, however many questions the variables name, and those of filters by one', async () => {
    const { sql, ownerId } = database;
    const { surveyId, topic } = await analysedSurvey(database, 'themes/test');
    const edition = newId();
    await sql`INSERT INTO ai_jobs ${sql({ id: newId(), owner_id: ownerId, survey_id: surveyId, topic, request: { analysisType: 'themes' }, result: { edition }, status: 'COMPLETED' })}`;
    const statements: string[] = [];
    const { clickhouse } = responses;
    const table = createAnnotationTable({
      clickhouse: {
        ...clickhouse,
        select: (statement, ...given) => {
          statements.push(statement);
          return clickhouse.select(statement, ...given);
        },
      },
    });
    const questions = Array.from({ length: 21 }, () => newId());
    const [first = '', second = '', third = ''] = questions;
    const finding = (questionId: string, ...values: string[]) => ({ responseId: newId(), questionId, values });
    await table.insert({ surveyId, edition }, [
      [finding(first, 'Food'), finding(first, 'Staff', 'Food'), finding(second, 'Staff'), finding(second, 'Staff')],
    ]);
    const annotations = createAnnotations({ rows: createAiAnnotationRows(sql), table, newId });
    const variables = questions.map((id) => `theme:${id}`);
    const { theme } = await annotations.findByNames(surveyId, { variables, filters: variables });
    assert.equal(statements.length, 2);
    assert.deepEqual(theme?.values, ['Staff', 'Food']);
    assert.deepEqual([...(theme?.byQuestion?.keys() ?? [])], questions);
    assert.deepEqual(
      [first, second, third].map((id) => theme?.byQuestion?.get(id)?.values),
      [['Food', 'Staff'], ['Staff'], []],
    );
    statements.length = 0;
    const filtered = await annotations.findByNames(surveyId, { filters: [...variables, `theme:${first}:Food`] });
    assert.deepEqual([statements.length, filtered.theme?.values], [1, ['Staff', 'Food']]);
  });
});
