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

  it('are written again by the sweep where ClickHouse has lost those of the newest analysis', async () => {
    const { sql, ownerId } = database;
    const { surveyId, topic } = await analysedSurvey(database, 'themes/lost');
    const [older, newest, responseId, questionId] = [newId(), newId(), newId(), newId()];
    const jobId = newId();
    for (const [id, edition, minutesAgo] of [
      [newId(), older, 9],
      [jobId, newest, 5],
    ] as const)
      await sql`INSERT INTO ai_jobs ${sql({ id, owner_id: ownerId, survey_id: surveyId, topic, request: { analysisType: 'themes' }, result: { edition }, status: 'COMPLETED', updated_at: new Date(Date.now() - minutesAgo * 60_000) })}`;
    await sql`INSERT INTO ai_findings ${sql({ survey_id: surveyId, topic, response_id: responseId, question_id: questionId, digest: Buffer.alloc(16), seen_by: jobId, finding: { themes: ['Food'] } })}`;
    const table = createAnnotationTable(responses);
    const rows = createAiAnnotationRows(sql);
    const annotations = createAnnotations({ rows, table, newId });
    const counts = () => annotations.countsOf(surveyId, questionId, { kind: 'theme', limit: 9 });
    assert.deepEqual(await counts(), []);
    await annotations.sweep(Date.now());
    assert.deepEqual(await counts(), [{ value: 'Food', count: 1 }]);
    const editions = async () => [await rows.lastEdition(surveyId, 'theme'), [...(await table.editions()).keys()]];
    const published = await editions();
    const { clickhouse } = responses;
    const written = `SELECT toUInt8(uniqExact(edition)) FROM ${clickhouse.table('findings')} WHERE survey_id = '${surveyId}'`;
    assert.deepEqual(await clickhouse.select(written), [[1]]);
    await annotations.sweep(Date.now());
    assert.deepEqual(await editions(), published, 'once');
  });

  it('of an analysis under way or cancelled are not published as those of one that found nothing', async () => {
    const { sql, ownerId } = database;
    const { surveyId, topic } = await analysedSurvey(database, 'themes/nothing');
    const job = { owner_id: ownerId, survey_id: surveyId, topic, request: { analysisType: 'themes' } };
    const [edition, cancelled] = [newId(), newId()];
    await sql`INSERT INTO ai_jobs ${sql({ ...job, id: newId(), result: { edition }, status: 'COMPLETED' })}`;
    await sql`INSERT INTO ai_jobs ${sql({ ...job, id: cancelled, status: 'CANCELLED' })}`;
    await sql`INSERT INTO ai_findings ${sql({ survey_id: surveyId, topic, response_id: newId(), question_id: newId(), digest: Buffer.alloc(16), seen_by: cancelled, finding: { themes: ['Food'] } })}`;
    const rows = createAiAnnotationRows(sql);
    await createAnnotations({ rows, table: createAnnotationTable(responses), newId }).sweep(Date.now());
    assert.equal(await rows.lastEdition(surveyId, 'theme'), edition);
  });
});
