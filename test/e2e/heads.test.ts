import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { useService } from '../support/use-service.ts';

const daySeconds = 86_400;
const dayOf = (moment: string) => moment.slice(0, 10);
const from = (days: number) => new Date(Date.now() + days * daySeconds * 1000).toISOString();

describe('totals of a survey in lists and analytics', () => {
  let admin: Client;
  useService((served) => {
    ({ admin } = served);
  });

  it('count the selected responses: complete, partial, of some days', async () => {
    const { id } = await admin.create('/surveys', { title: 'Heads', status: 'ACTIVE' });
    const { id: questionId } = await admin.create(`/surveys/${id}/questions`, { type: 'NUMBER', text: 'n' });
    const answers = [{ questionId, numberValue: 1 }];
    // Clocks of respondents are not to be trusted: a duration lies between 0 and 30 days, or there is none.
    for (const more of [
      { startedAt: from(-40) },
      { startedAt: from(1) },
      { startedAt: from(-2) },
      { isComplete: false },
    ])
      assert.equal((await admin.submit(id, { answers, ...more })).status, 201);
    const whole = await eventually(async () => {
      const found = await admin.get(`/analytics/surveys/${id}`);
      assert.equal(found.totalResponses, 4);
      return found;
    });
    const responses: { submittedAt: string; durationSeconds: number | null; isComplete: boolean }[] = await admin.get(
      `/responses/surveys/${id}`,
    );
    const took = responses[1]?.durationSeconds ?? 0;
    assert.ok(took >= 2 * daySeconds && took < 2 * daySeconds + 60, String(took));
    assert.deepEqual(
      responses.map(({ durationSeconds }) => durationSeconds),
      [null, took, null, null],
    );
    assert.deepEqual(
      [whole.completeResponses, whole.completionRate, whole.averageDuration, whole.lastResponseAt],
      [3, 75, took, responses[0]?.submittedAt],
    );
    const days = [...new Set(responses.map(({ submittedAt }) => dayOf(submittedAt)))].sort();
    assert.deepEqual(
      whole.responsesByDay,
      days.map((date) => ({ date, count: responses.filter(({ submittedAt }) => dayOf(submittedAt) === date).length })),
    );

    const [yesterday, today, tomorrow] = [dayOf(from(-1)), dayOf(responses[0]?.submittedAt ?? ''), dayOf(from(1))];
    for (const [query, count] of [
      ['isComplete=true', 3],
      ['isComplete=false', 1],
      [`startDate=${tomorrow}`, 0],
      [`startDate=${yesterday}&endDate=${today}`, 4],
      [`isComplete=false&endDate=${today}`, 1],
    ] as const) {
      const listed = await admin.call('GET', `/responses/surveys/${id}?${query}`);
      assert.deepEqual([listed.body.data.length, listed.body.pagination.total], [count, count], query);
      const counted = await admin.get(`/analytics/surveys/${id}?${query}`);
      assert.deepEqual(
        [counted.totalResponses, counted.questionStats[0].responseCount, counted.lastResponseAt === null],
        [count, count, count === 0],
        query,
      );
    }
  });

  it('a crosstab takes a row of each of two MATRIX questions', async () => {
    const { id } = await admin.create('/surveys', { title: 'Grids', status: 'ACTIVE' });
    const grid = async () =>
      admin.create(`/surveys/${id}/questions`, {
        type: 'MATRIX',
        text: 'grid',
        options: [{ text: 'low' }, { text: 'high' }],
        settings: { rows: [{ text: 'price' }, { text: 'taste' }] },
      });
    const [one, other] = [await grid(), await grid()];
    const at = (question: any, row: number, option: number) => ({
      questionId: question.id,
      rowId: question.settings.rows[row].id,
      optionId: question.options[option].id,
    });
    for (const [price, taste] of [
      [0, 1],
      [0, 1],
      [1, 0],
    ] as const)
      assert.equal(
        (await admin.submit(id, { answers: [at(one, 0, price), at(one, 1, 0), at(other, 0, 1), at(other, 1, taste)] }))
          .status,
        201,
      );
    await eventually(async () => {
      const table = await admin.post(`/analytics/surveys/${id}/crosstab`, {
        questionId1: one.id,
        rowId1: one.settings.rows[0].id,
        questionId2: other.id,
        rowId2: other.settings.rows[1].id,
      });
      assert.deepEqual(
        [table.total, table.cells.map((row: { count: number }[]) => row.map(({ count }) => count))],
        [
          3,
          [
            [0, 2],
            [1, 0],
          ],
        ],
      );
    });
  });
});
