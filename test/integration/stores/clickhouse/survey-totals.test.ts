import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CountPlan, Dimension } from '../../../../src/domain/questions/contract.ts';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import {
  createTotalsStore,
  type SurveyCountQuery,
  type TotalsStore,
} from '../../../../src/stores/clickhouse/counts/totals.ts';
import {
  type GivenResponse,
  givenStart,
  type ResponseDatabase,
  responseLine,
} from '../../../support/response-database.ts';
import { useTotals } from '../../../support/use-totals.ts';

let database: ResponseDatabase;
let totals: TotalsStore;
const { given, count } = useTotals((opened) => {
  ({ database, totals } = opened);
});

const dayMs = 86_400_000;

test('a survey without responses has zeros, nulls and empty results', async () => {
  const plan: CountPlan = {
    base: [0],
    requests: [
      { kind: 'codes', slot: 0 },
      { kind: 'bits', slots: [1] },
      { kind: 'number', slot: 0, presence: 2 },
      { kind: 'text', slot: 0, presence: 3, by: 'words' },
    ],
  };
  const counted = await totals.countSurvey({ surveyId: newId(), plans: [{ questionId: 'q', plan }] });
  assert.deepEqual(counted, {
    total: 0,
    outcomes: { PARTIAL: 0, COMPLETED: 0, SCREENED_OUT: 0, OVER_QUOTA: 0 },
    counted: 0,
    notAsked: new Map(),
    durationAverageMs: null,
    durationMedianSeconds: null,
    lastSubmittedAt: null,
    byDay: [],
    perQuestion: new Map([
      [
        'q',
        {
          base: 0,
          partBases: [],
          results: [
            { kind: 'codes', counts: new Map() },
            { kind: 'bits', counts: new Array(16).fill(0) },
            {
              kind: 'number',
              moments: {
                count: 0,
                average: null,
                median: null,
                standardDeviation: null,
                min: null,
                max: null,
                bins: [],
              },
            },
            { kind: 'text', counts: [] },
          ],
        },
      ],
    ]),
  });
});

test('the summary counts responses, completions, durations and days', async () => {
  const surveyId = await given([
    { submittedAtMs: givenStart, durationMs: 1000 },
    { submittedAtMs: givenStart + 13 * 3_600_000, durationMs: 2001 },
    { submittedAtMs: givenStart + 14 * 3_600_000, durationMs: 50_000, outcome: 'PARTIAL' },
    { submittedAtMs: givenStart + 14 * 3_600_000, durationMs: 70_000, outcome: 'SCREENED_OUT' },
    { submittedAtMs: givenStart + 14 * 3_600_000, durationMs: 70_000, outcome: 'OVER_QUOTA' },
    { submittedAtMs: givenStart + 40 * dayMs, durationMs: 0 },
  ]);
  const { perQuestion, ...head } = await totals.countSurvey({ surveyId, plans: [], withMedianDuration: true });
  assert.deepEqual(head, {
    total: 6,
    outcomes: { PARTIAL: 1, COMPLETED: 3, SCREENED_OUT: 1, OVER_QUOTA: 1 },
    counted: 4,
    notAsked: new Map(),
    durationAverageMs: 3001 / 3,
    durationMedianSeconds: 1,
    lastSubmittedAt: new Date(givenStart + 40 * dayMs),
    byDay: [
      { date: '2026-03-01', count: 2 },
      { date: '2026-03-02', count: 3 },
      { date: '2026-04-10', count: 1 },
    ],
  });
  assert.equal(perQuestion.size, 0);
});

test('the median duration is counted where it is asked for, and one forgotten tab does not move it', async () => {
  const plan: CountPlan = { base: [0], requests: [{ kind: 'codes', slot: 0 }] };
  const medianOf = async (durations: readonly (number | undefined)[]) => {
    const surveyId = await given(
      durations.map((durationMs) => ({ codes: [1], ...(durationMs !== undefined && { durationMs }) })),
    );
    const counted = await totals.countSurvey({
      surveyId,
      plans: [{ questionId: 'q', plan }],
      withMedianDuration: true,
    });
    assert.equal(counted.perQuestion.get('q')?.base, durations.length);
    return counted.durationMedianSeconds;
  };
  assert.equal(await medianOf([40_000, 41_499, 42_700, 20 * 24 * 3_600_000, undefined]), 42);
  assert.equal(await medianOf([40_000, 40_600, 41_400, 42_600]), 41);
  assert.equal(await medianOf([undefined]), null);
  assert.equal(await medianOf([20 * 24 * 3_600_000]), 65_535);
  assert.equal(await medianOf([0]), 0);
});

test('merged, repeated and deleted responses count once, in their newest version, or not at all', async () => {
  const surveyId = newId();
  const [merged, deleted, repeated] = [newId(), newId(), newId()];
  const late = { submittedAtMs: givenStart + 400 * dayMs };
  const line = (response: Omit<GivenResponse, 'surveyId'>) => responseLine({ surveyId, ...response });
  await database.store([
    line({ responseId: merged, outcome: 'PARTIAL', codes: [1] }),
    line({ responseId: deleted, codes: [2] }),
    line({ responseId: repeated, codes: [3], durationMs: 10, ...late }),
  ]);
  await database.store([line({ responseId: merged, version: 2, codes: [4], numbers: [5], durationMs: 30 })]);
  await database.store([
    encodeTombstone(surveyId, deleted, givenStart),
    line({ responseId: repeated, codes: [3], durationMs: 10, ...late }),
  ]);
  await database.store([line({ responseId: deleted, codes: [2] })]);
  const plan: CountPlan = { base: [0], requests: [{ kind: 'codes', slot: 0 }] };
  const { perQuestion, ...head } = await totals.countSurvey({ surveyId, plans: [{ questionId: 'q', plan }] });
  assert.deepEqual(perQuestion.get('q'), {
    base: 2,
    partBases: [],
    results: [
      {
        kind: 'codes',
        counts: new Map([
          [3, 1],
          [4, 1],
        ]),
      },
    ],
  });
  assert.deepEqual(
    [head.total, head.outcomes.COMPLETED, head.durationAverageMs, head.byDay.map((day) => day.count)],
    [2, 2, 20, [1, 1]],
  );
  assert.equal(
    (await count(surveyId, plan, { isComplete: false })).total,
    0,
    'the older version is not seen by a filter',
  );
});

test('filters, dates and completeness select what is counted', async () => {
  const surveyId = await given([
    { codes: [1, 0b11], submittedAtMs: givenStart },
    { codes: [1, 0b10], submittedAtMs: givenStart + dayMs },
    { codes: [2, 0b01], submittedAtMs: givenStart + 2 * dayMs, outcome: 'PARTIAL' },
  ]);
  const plan: CountPlan = { base: [0], requests: [{ kind: 'codes', slot: 0 }] };
  const code: Dimension = { categories: [], source: { kind: 'code', slot: 0 } };
  const bits: Dimension = { categories: [], source: { kind: 'bits', slots: [1] } };
  assert.equal((await count(surveyId, plan, { filters: [{ dimension: code, code: 1 }] })).total, 2);
  assert.equal((await count(surveyId, plan, { filters: [{ dimension: bits, code: 1 }] })).total, 2);
  assert.equal(
    (
      await count(surveyId, plan, {
        filters: [
          { dimension: code, code: 1 },
          { dimension: bits, code: 1 },
        ],
      })
    ).base,
    1,
  );
  assert.equal(
    (
      await count(surveyId, plan, {
        startDate: new Date(givenStart + dayMs),
        endDate: new Date(givenStart + 2 * dayMs),
      })
    ).total,
    1,
  );
  assert.equal((await count(surveyId, plan, { isComplete: true })).total, 2);
});

test('the summary of whole days, and of some outcomes of them, is answered by the projection', async () => {
  const surveyId = await given([{ codes: [1] }, { codes: [2], submittedAtMs: givenStart + 2 * dayMs }]);
  const statements: string[] = [];
  const { clickhouse } = database;
  const watched = createTotalsStore({
    clickhouse: {
      ...clickhouse,
      select(statement, options) {
        statements.push(statement);
        return clickhouse.select(statement, options);
      },
    },
  });
  const planFor = async (selection: Omit<SurveyCountQuery, 'surveyId' | 'plans'>) => {
    statements.length = 0;
    const { total } = await watched.countSurvey({ surveyId, plans: [], ...selection });
    const [summary = ''] = statements.at(-1)?.split(' UNION ALL ') ?? [];
    const lines = await clickhouse.select<[string]>(`EXPLAIN projections = 1 ${summary}`);
    return { total, usesProjection: lines.some(([line]) => /ReadFromMergeTree \(hours\)/.test(line)) };
  };
  const midnight = new Date(Math.floor(givenStart / dayMs) * dayMs + dayMs);
  assert.deepEqual(await planFor({}), { total: 2, usesProjection: true });
  assert.deepEqual(await planFor({ startDate: midnight, isComplete: true }), { total: 1, usesProjection: true });
  assert.deepEqual(await planFor({ endDate: midnight, outcomes: ['COMPLETED', 'PARTIAL'] }), {
    total: 1,
    usesProjection: true,
  });
  assert.deepEqual(await planFor({ startDate: new Date(givenStart + 1) }), { total: 1, usesProjection: false });
});
