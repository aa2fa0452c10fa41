import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startService, type RunningService } from '../support/service.ts';

/** Respondents by row (a, b) and column (x, y, z). */
const crossed = [[18, 2, 5], [3, 17, 5]];

describe('a crosstab', () => {
  let service: RunningService;
  let admin: Client;
  let survey: { id: string; rows: string; columns: string };
  const ask = (fields: Record<string, unknown> = {}) => admin.post(`/analytics/surveys/${survey.id}/crosstab`, { questionId1: survey.rows, questionId2: survey.columns, ...fields });
  const refusal = async (fields: Record<string, unknown>) => {
    const { status, body } = await admin.call('POST', `/analytics/surveys/${survey.id}/crosstab`, { body: { questionId1: survey.rows, questionId2: survey.columns, ...fields } });
    assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body));
    return body.details.map(({ path }: any) => path);
  };

  before(async () => {
    service = await startService();
    admin = await adminClient(service);
    const { id } = await admin.create('/surveys', { title: 'Crossed' });
    const question = (body: Record<string, unknown>) => admin.create(`/surveys/${id}/questions`, body);
    const choice = (...values: string[]) => question({ type: 'DROPDOWN', text: 'Which?', options: values.map((value) => ({ text: value.toUpperCase(), value })) });
    const [rows, columns] = [await choice('a', 'b'), await choice('x', 'y', 'z')];
    await admin.post(`/surveys/${id}/publish`);
    survey = { id, rows: rows.id, columns: columns.id };
    for (const [r, line] of crossed.entries())
      for (const [c, count] of line.entries())
        for (let n = 0; n < count; n += 1)
          await admin.submit(id, { answers: [{ questionId: rows.id, optionId: rows.options[r].id }, { questionId: columns.id, optionId: columns.options[c].id }] });
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 50));
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
  });

  it('names the columns that a percentage exceeds significantly, at any level and with corrections', async () => {
    const over = async (fields: Record<string, unknown> = {}) => (await ask(fields)).cells.map((line: any[]) => line.map(({ significantOver }) => significantOver));
    // p of x and y 2.0e-6, of x and z 0.0336, of y and z 0.0182.
    assert.deepEqual(await over(), [[['y', 'z'], [], ['y']], [[], ['x', 'z'], ['x']]]);
    assert.deepEqual(await over({ significance: 0.98 }), [[['y'], [], ['y']], [[], ['x', 'z'], []]]);
    assert.deepEqual(await over({ correction: 'bonferroni' }), [[['y'], [], []], [[], ['x'], []]]);
    assert.deepEqual(await over({ correction: 'fdr', significance: 0.95 }), await over());
    for (const significance of [0.05, 1, 95, '0.95', null]) assert.deepEqual(await refusal({ significance }), ['significance'], String(significance));
    assert.deepEqual(await refusal({ correction: 'holm' }), ['correction']);
  });
});
