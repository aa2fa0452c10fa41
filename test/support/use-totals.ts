import assert from 'node:assert/strict';
import type {
  CountPlan,
  CountRequest,
  CountResult,
  Dimension,
  NumberScale,
} from '../../src/domain/questions/contract.ts';
import {
  createTotalsStore,
  type SurveyCountQuery,
  type TotalsStore,
} from '../../src/stores/clickhouse/counts/totals.ts';
import { type ResponseDatabase, useResponseDatabase } from './response-database.ts';

export interface TotalsFixture {
  database: ResponseDatabase;
  totals: TotalsStore;
}

/** Selects the responses whose second code is 2. */
export const moderns = {
  dimension: {
    categories: [{ code: 2, value: 'b', text: 'b' }],
    source: { kind: 'code', slot: 1 },
  } satisfies Dimension,
  code: 2,
};

export const binsIn = (result: CountResult | undefined) =>
  result?.kind === 'number'
    ? result.moments.bins.map(({ low, high, count: amount }) => [low, high, amount])
    : assert.fail();

/**
 * A database and its totals for the tests of a file, which `take` is given before the first of them; it is dropped
 * after the last.
 */
export function useTotals(take: (opened: TotalsFixture) => void) {
  let database: ResponseDatabase;
  let totals: TotalsStore;

  useResponseDatabase((opened) => {
    database = opened;
    totals = createTotalsStore({ clickhouse: database.clickhouse });
    take({ database, totals });
  });

  const given: ResponseDatabase['given'] = (...responses) => database.given(...responses);

  /** The counts of one question with these requests. */
  async function count(surveyId: string, plan: CountPlan, filters: Omit<SurveyCountQuery, 'surveyId' | 'plans'> = {}) {
    const counted = await totals.countSurvey({ surveyId, plans: [{ questionId: 'q', plan }], ...filters });
    const question = counted.perQuestion.get('q');
    assert.ok(question);
    return { ...question, total: counted.total };
  }

  /** The result of the only request. */
  async function first(surveyId: string, base: number, request: CountRequest): Promise<CountResult> {
    const { results } = await count(surveyId, { base: [base], requests: [request] });
    assert.equal(results.length, 1);
    return results[0] ?? assert.fail();
  }

  /** The figures of these numbers, beside a response without a number. */
  async function moments(numbers: readonly number[], scale?: NumberScale) {
    const surveyId = await given([
      ...numbers.map((number) => ({ codes: [1], numbers: [number] })),
      { codes: [0], numbers: [] },
    ]);
    const result = await first(surveyId, 0, { kind: 'number', slot: 0, presence: 0, ...(scale && { scale }) });
    return result.kind === 'number' ? result.moments : assert.fail();
  }

  return { given, count, first, moments };
}
