import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CrosstabCounts } from '../../../../src/domain/analytics/crosstab-counts.ts';
import { crosstabRoute } from '../../../../src/http/routes/crosstab.ts';
import type { BannerQuery, CrosstabStore } from '../../../../src/stores/clickhouse/counts/crosstab.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const optionsOf = (count: number) => Array.from({ length: count }, (_, n) => ({ text: `Option ${n}` }));

/** The route over a survey in memory, whose responses are counted as given. */
function setUp(count: (query: BannerQuery) => CrosstabCounts) {
  const asked = withQuestion(blankSurvey(), { type: 'CHECKBOXES', text: 'Which?', options: optionsOf(40) });
  const { survey, question: other } = withQuestion(asked.survey, { type: 'YES_NO', text: 'Again?' });
  const queries: BannerQuery[] = [];
  const cachedCrosstab: Pick<CrosstabStore, 'countBanner' | 'lacksMetadataKey'> = {
    countBanner: async (query) => {
      queries.push(query);
      return query.columns.map(() => count(query));
    },
    lacksMetadataKey: async () => false,
  };
  const route = crosstabRoute({
    cachedCrosstab,
    surveys: { load: async () => survey },
    annotations: { findByNames: async () => ({ themes: [], hasSentiments: false }) as never },
    maxCells: 50_000,
  });
  const ask = async (userId: string, body: object) => {
    const outcome = await route.handle({
      params: { surveyId: survey.id },
      body: { questionId1: asked.question.id, questionId2: other.id, filters: [], includeSkipped: false, ...body },
      principal: { userId },
    } as never);
    assert.ok(outcome.kind === 'bytes');
    return JSON.parse(Buffer.from(outcome.bytes).toString()).data;
  };
  return { ask, queries, many: asked.question, other };
}

const few: CrosstabCounts = {
  cells: [{ row: 1, column: 1, count: 3 }],
  rowTotals: new Map([[1, 3]]),
  columnTotals: new Map([[1, 3]]),
  total: 3,
};

describe('a crosstab', () => {
  it('counts a question once that its banner names several times', async () => {
    const { ask, queries, many, other } = setUp(() => few);
    const { banner, ...first } = await ask('user', { banner: [other.id, many.id, { questionId: other.id }, other.id] });
    assert.deepEqual(
      queries.map(({ columns }) => columns.map(({ categories }) => categories.length)),
      [[2, 40]],
    );
    assert.deepEqual(
      banner.map(({ questionId, columns }: typeof first) => [questionId, columns.length]),
      [
        [other.id, 2],
        [many.id, 40],
        [other.id, 2],
        [other.id, 2],
      ],
    );
    for (const index of [0, 2, 3]) assert.deepEqual(banner[index], { questionId: other.id, ...first });
  });

  it('takes turns with those of others by user, and with those of the same user', async () => {
    const codes = Array.from({ length: 40 }, (_, index) => index + 1);
    const totals = new Map(codes.map((code) => [code, 100]));
    const large = {
      cells: codes.flatMap((row) => codes.map((column) => ({ row, column, count: 40 + ((row + column) % 20) }))),
      rowTotals: totals,
      columnTotals: totals,
      total: 4000,
    };
    const { ask, many, other } = setUp(({ columns }) => (columns[0]?.categories.length === 40 ? large : few));
    const done: string[] = [];
    const compare = async (userId: string, columns = many) => {
      await ask(userId, { questionId1: many.id, questionId2: columns.id });
      done.push(columns === many ? userId : 'small');
    };
    await Promise.all([...Array.from({ length: 8 }, () => compare('busy')), compare('other'), compare('busy', other)]);
    assert.ok(done.indexOf('other') <= 2, done.join());
    assert.ok(done.indexOf('small') <= 2, done.join());
  });
});
