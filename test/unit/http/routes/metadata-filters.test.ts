import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { analyticsRoutes } from '../../../../src/http/routes/analytics.ts';
import { crosstabRoute } from '../../../../src/http/routes/crosstab.ts';
import { exportRoutes } from '../../../../src/http/routes/exports.ts';
import type { SurveyCounts } from '../../../../src/stores/clickhouse/counts/totals.ts';
import { blankSurvey, nextId, withQuestion } from '../../../support/questions.ts';

const { survey, question } = withQuestion(blankSurvey(), { type: 'YES_NO', text: 'Again?' });

/** Routes over a survey whose responses have these keys of the metadata; `selected` of them match any filter. */
function setUp({ keys, selected }: { keys: readonly string[]; selected: number }) {
  const looked: string[] = [];
  const counts: SurveyCounts = {
    total: selected,
    outcomes: { PARTIAL: 0, COMPLETED: selected, SCREENED_OUT: 0, OVER_QUOTA: 0 },
    durationAverageMs: null,
    durationMedianSeconds: null,
    byDay: [],
    lastSubmittedAt: null,
    counted: selected,
    notAsked: new Map(),
    perQuestion: new Map([
      [question.id, { results: [{ kind: 'codes', counts: new Map([[1, selected]]) }], base: selected, partBases: [] }],
    ]),
  };
  const shared = {
    surveys: { load: async () => survey },
    annotations: { findByNames: async () => ({}) },
    cachedCrosstab: {
      countBanner: async () => [{ cells: [], rowTotals: new Map(), columnTotals: new Map(), total: selected }],
      lacksMetadataKey: async ({ key }: { key: string }) => {
        looked.push(key);
        return !keys.includes(key);
      },
    },
  };
  const [ofSurvey, ofQuestion] = analyticsRoutes({ ...shared, cachedTotals: { countSurvey: async () => counts } });
  const ofCrosstab = crosstabRoute({ ...shared, maxCells: 100 });
  const [ofExports] = exportRoutes({
    ...shared,
    exports: { create: async () => ({ kind: 'created' }) } as never,
    files: {} as never,
    maxUserBytes: 1,
    now: () => 0,
    newId: nextId,
  });
  const params = { surveyId: survey.id, questionId: question.id };
  const ask = async (filters: readonly string[]) => {
    const query = { filter: filters, base: 'answered' };
    const variables = { questionId1: question.id, questionId2: question.id, includeSkipped: false };
    const calls = [
      ofSurvey?.handle({ params, query } as never),
      ofQuestion?.handle({ params, query } as never),
      ofCrosstab.handle({ params, body: { ...variables, filters }, principal: { userId: 'u' } } as never),
      ofExports?.handle({ params, body: { format: 'CSV', filters }, principal: { userId: 'u' } } as never),
    ];
    const results = await Promise.allSettled(calls);
    return results.map((result) =>
      result.status === 'fulfilled' ? 'taken' : (result.reason.details?.[0]?.message ?? result.reason),
    );
  };
  return { ask, looked };
}

const allOf = (text: string) => [text, text, text, text];

describe('a filter by a key of the metadata', () => {
  it('that no response has is refused where it would give an empty result', async () => {
    const { ask } = setUp({ keys: ['region'], selected: 0 });
    assert.deepEqual(
      await ask(['metadata:region:North', 'metadata:regoin:North']),
      allOf('no response of this survey has the key "regoin" in its metadata'),
    );
  });

  it('that some response has gives an empty result', async () => {
    const { ask } = setUp({ keys: ['region', 'invitation:team'], selected: 0 });
    assert.deepEqual(await ask(['metadata:region:North', 'invitation:team:red']), allOf('taken'));
  });

  it('is looked up once, for the export, where it selects responses', async () => {
    const { ask, looked } = setUp({ keys: ['region'], selected: 3 });
    assert.deepEqual(await ask(['metadata:region:North', 'outcome:COMPLETED']), allOf('taken'));
    assert.deepEqual(looked, ['region']);
  });
});
