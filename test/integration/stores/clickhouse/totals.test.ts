import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type {
  CountPlan,
  CountRequest,
  CountResult,
  Dimension,
  NumberScale,
  TextKey,
} from '../../../../src/domain/questions/contract.ts';
import { wordsIn } from '../../../../src/domain/questions/words.ts';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import {
  createTotalsStore,
  type SurveyCountQuery,
  type TotalsStore,
} from '../../../../src/stores/clickhouse/counts/totals.ts';
import {
  type GivenResponse,
  givenStart,
  openResponseDatabase,
  type ResponseDatabase,
  responseLine,
} from '../../../support/response-database.ts';
import { spelledWords } from '../../../support/spelled-words.ts';

let database: ResponseDatabase;
let totals: TotalsStore;

before(async () => {
  database = await openResponseDatabase();
  totals = createTotalsStore({ clickhouse: database.clickhouse });
});

after(() => database.close());

const dayMs = 86_400_000;

async function given(
  responses: readonly Omit<GivenResponse, 'surveyId'>[],
  { codeColumns = 64 } = {},
): Promise<string> {
  const surveyId = newId();
  await database.store(
    responses.map((response) => responseLine({ surveyId, ...response })),
    { codeColumns },
  );
  return surveyId;
}

/** The counts of one question with these requests. */
async function count(surveyId: string, plan: CountPlan, filters: Omit<SurveyCountQuery, 'surveyId' | 'plans'> = {}) {
  const counted = await totals.countSurvey({ surveyId, plans: [{ questionId: 'q', plan }], ...filters });
  const question = counted.perQuestion.get('q');
  assert.ok(question);
  return { ...question, total: counted.total };
}

async function first(surveyId: string, base: number, request: CountRequest): Promise<CountResult> {
  const { results } = await count(surveyId, { base: [base], requests: [request] });
  assert.equal(results.length, 1);
  return results[0] ?? assert.fail();
}

async function moments(numbers: readonly number[], scale?: NumberScale) {
  const surveyId = await given([
    ...numbers.map((number) => ({ codes: [1], numbers: [number] })),
    { codes: [0], numbers: [] },
  ]);
  const result = await first(surveyId, 0, { kind: 'number', slot: 0, presence: 0, ...(scale && { scale }) });
  return result.kind === 'number' ? result.moments : assert.fail();
}

async function keys(texts: readonly (string | null)[], by: TextKey) {
  const surveyId = await given(
    texts.map((text) => (text === null ? { codes: [0], texts: ['left over'] } : { codes: [1], texts: [text] })),
  );
  const result = await first(surveyId, 0, { kind: 'text', slot: 0, presence: 0, by });
  return result.kind === 'text' ? result.counts : assert.fail();
}

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

test('codes are counted by position, the highest one too, and the base leaves out responses without an answer', async () => {
  const surveyId = await given([{ codes: [1, 65_535] }, { codes: [2, 65_535] }, { codes: [1, 0] }, { codes: [] }]);
  const plans = [0, 1, 2].map((slot) => ({
    questionId: `q${slot}`,
    plan: { base: [slot], requests: [{ kind: 'codes', slot }] } satisfies CountPlan,
  }));
  const { perQuestion } = await totals.countSurvey({ surveyId, plans });
  assert.deepEqual(
    [...perQuestion.entries()],
    [
      [
        'q0',
        {
          base: 3,
          partBases: [],
          results: [
            {
              kind: 'codes',
              counts: new Map([
                [1, 2],
                [2, 1],
              ]),
            },
          ],
        },
      ],
      ['q1', { base: 2, partBases: [], results: [{ kind: 'codes', counts: new Map([[65_535, 2]]) }] }],
      ['q2', { base: 0, partBases: [], results: [{ kind: 'codes', counts: new Map() }] }],
    ],
  );
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

test('parts of a question have bases of their own, of one position or several', async () => {
  const surveyId = await given([
    { codes: [1, 0, 3] },
    { codes: [0, 2, 1] },
    { codes: [1, 1, 0] },
    { codes: [0, 0, 0] },
  ]);
  const parts = [[0, 1], [2], [1]];
  for (const isSmall of [true, false]) {
    const counted = await createTotalsStore({
      clickhouse: database.clickhouse,
      sizes: { isSmall: async () => isSmall, isKnownSmall: () => isSmall, note: () => isSmall },
    }).countSurvey({
      surveyId,
      plans: [
        { questionId: 'p', plan: { base: [2], requests: [{ kind: 'codes', slot: 2 }] } },
        { questionId: 'q', plan: { base: [0, 1, 2], parts, requests: [{ kind: 'bits', slots: [0, 1] }] } },
        { questionId: 'r', plan: { base: [0], requests: [{ kind: 'codes', slot: 0 }] } },
      ],
    });
    assert.deepEqual(
      ['p', 'q', 'r'].map((id) => [counted.perQuestion.get(id)?.base, counted.perQuestion.get(id)?.partBases]),
      [
        [2, []],
        [3, [3, 2, 2]],
        [2, []],
      ],
    );
  }
});

test('bits are counted by option over several words, and a respondent counts once in the base', async () => {
  const surveyId = await given([
    { codes: [0b1, 0b1] },
    { codes: [0b1000_0000_0000_0001, 0] },
    { codes: [0, 0b100] },
    { codes: [0, 0, 5] },
  ]);
  const { base, results } = await count(surveyId, { base: [0, 1], requests: [{ kind: 'bits', slots: [0, 1] }] });
  const expected = new Array<number>(32).fill(0);
  expected[0] = 2;
  expected[15] = 1;
  expected[16] = 1;
  expected[18] = 1;
  assert.equal(base, 3);
  assert.deepEqual(results, [{ kind: 'bits', counts: expected }]);
  const single = await count(surveyId, { base: [0], requests: [{ kind: 'bits', slots: [0] }] });
  assert.equal(single.base, 2, 'the base of a single word');
});

test('one position can be counted as codes and as bits at once', async () => {
  const surveyId = await given([{ codes: [3] }, { codes: [2] }]);
  const { results } = await count(surveyId, {
    base: [0],
    requests: [
      { kind: 'codes', slot: 0 },
      { kind: 'bits', slots: [0] },
    ],
  });
  const [codes, bits] = results;
  assert.deepEqual(codes, {
    kind: 'codes',
    counts: new Map([
      [2, 1],
      [3, 1],
    ]),
  });
  assert.deepEqual(bits?.kind === 'bits' ? bits.counts.slice(0, 3) : bits, [1, 2, 0]);
});

test('all positions are counted, however many, also those without a column', async () => {
  const slots = Array.from({ length: 140 }, (_, slot) => slot);
  const surveyId = await given(
    [{ codes: slots.map((slot) => 1 + (slot % 7)) }, { codes: slots.map((slot) => 1 + (slot % 7)) }],
    { codeColumns: 140 },
  );
  const asked = [...slots, 5000, 5001];
  const { base, results } = await count(surveyId, {
    base: asked,
    requests: asked.map((slot) => ({ kind: 'codes', slot })),
  });
  assert.equal(base, 2);
  assert.deepEqual(
    results,
    asked.map((slot) => ({ kind: 'codes', counts: slot < 140 ? new Map([[1 + (slot % 7), 2]]) : new Map() })),
  );
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

test('a number has its mean, interpolated median, sample deviation and extremes', async () => {
  const found = await moments([4, 1, 2, 10]);
  assert.deepEqual([found.count, found.average, found.median, found.min, found.max], [4, 4.25, 3, 1, 10]);
  assert.ok(Math.abs((found.standardDeviation ?? 0) - Math.sqrt(48.75 / 3)) < 1e-12);
});

test('a single number has no deviation and one bin', async () => {
  assert.deepEqual(await moments([-2.5]), {
    count: 1,
    average: -2.5,
    median: -2.5,
    standardDeviation: null,
    min: -2.5,
    max: -2.5,
    bins: [{ low: -2.5, high: -2.5, count: 1 }],
  });
});

test('the mean keeps the digits of small numbers between large ones that cancel out, and of many numbers', async () => {
  const most = Number.MAX_SAFE_INTEGER;
  assert.equal((await moments([most, 0.1, -most])).average, 0.1 / 3);
  const cancelling = Array.from({ length: 3000 }, (_, index) => [most, 0.25, -most][(index * 7) % 3] ?? 0);
  assert.equal((await moments(cancelling)).average, 0.25 / 3);
  assert.equal((await moments([-most, -0.5, 0.5, 1e-3, most - 1])).average, -0.999 / 5);
  // Their sum is far beyond what 64 bits hold.
  assert.equal((await moments(Array.from({ length: 1500 }, () => most))).average, most);
  assert.ok(Math.abs(((await moments(Array.from({ length: 20_000 }, () => 0.1))).average ?? 0) - 0.1) < 1e-16);
});

test('the deviation keeps its digits far from zero, and does not depend on the order of answers', async () => {
  const deviationOf = async (numbers: readonly number[]) => (await moments(numbers)).standardDeviation ?? 0;
  const repeated = (values: readonly number[], times: number) => Array.from({ length: times }, () => values).flat();
  const isNear = (actual: number, expected: number) =>
    assert.ok(Math.abs(actual / expected - 1) < 1e-14, `${actual} is not ${expected}`);
  isNear(await deviationOf([1e9, 1e9 + 1]), Math.SQRT1_2);
  isNear(await deviationOf(repeated([1e9 - 1, 1e9 + 1], 500)), Math.sqrt(1000 / 999));
  const now = 1_795_000_000_000;
  isNear(await deviationOf(repeated([now - 2, now - 1, now, now + 1, now + 2], 200)), Math.sqrt((2 * 1000) / 999));
  const large = repeated(
    [0, 1, 2, 3, 4].map((less) => 1e15 - less),
    1000,
  );
  const expected = Math.sqrt((2 * 5000) / 4999);
  for (const order of [large, [...large].reverse(), [...large].sort()]) isNear(await deviationOf(order), expected);
  isNear(await deviationOf([1e15, 0, 0, 0]), 5e14);
  isNear(await deviationOf([1e-9, 2e-9, 3e-9]), 1e-9);
});

test('one number has the same figures alone as beside others, under every plan', async () => {
  const surveyId = newId();
  const width = 30;
  const numberOf = (row: number, place: number) => Math.sin(row * 31 + place) * 10 ** ((row + place) % 7) + 1e6 / 3;
  await database.store(
    Array.from({ length: 4000 }, (_, row) =>
      responseLine({
        surveyId,
        codes: Array.from({ length: width }, () => 1),
        numbers: Array.from({ length: width }, (_, place) => numberOf(row, place)),
        submittedAtMs: givenStart + row * 1000,
      }),
    ),
  );
  const plan = (places: readonly number[]): CountPlan => ({
    base: [0],
    requests: places.map((place) => ({ kind: 'number', slot: place, presence: place })),
  });
  const figures = (result: CountResult | undefined) => (result?.kind === 'number' ? result.moments : assert.fail());
  const all = (await count(surveyId, plan(Array.from({ length: width }, (_, place) => place)))).results.map(figures);
  for (const place of [0, 7, 29]) {
    assert.deepEqual(figures((await count(surveyId, plan([place]))).results[0]), all[place]);
    const values = Array.from({ length: 4000 }, (_, row) => numberOf(row, place));
    const mean = values.reduce((sum, value) => sum + value, 0) / 4000;
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 3999);
    assert.ok(Math.abs((all[place]?.average ?? 0) / mean - 1) < 1e-13);
    assert.ok(Math.abs((all[place]?.standardDeviation ?? 0) / deviation - 1) < 1e-12);
  }
});

test('equal numbers share one bin', async () => {
  const found = await moments([7, 7, 7]);
  assert.deepEqual([found.standardDeviation, found.bins], [0, [{ low: 7, high: 7, count: 3 }]]);
});

test('bins have round edges, which are exactly those that are shown', async () => {
  const { bins } = await moments([0.3, 0.42, 0.9]);
  assert.deepEqual(
    bins.filter(({ count: amount }) => amount > 0),
    [
      { low: 0.3, high: 0.35, count: 1 },
      { low: 0.4, high: 0.45, count: 1 },
      { low: 0.85, high: 0.9, count: 1 },
    ],
  );
});

test('bins are equal and include their lower edge; the last one includes both edges', async () => {
  const { bins } = await moments([0, 4.999, 5, 99.9, 100, 95]);
  assert.equal(bins.length, 20);
  assert.deepEqual(
    [bins[0], bins[1], bins[19]],
    [
      { low: 0, high: 5, count: 2 },
      { low: 5, high: 10, count: 1 },
      { low: 95, high: 100, count: 3 },
    ],
  );
});

test('whole numbers have a bin each or bins of a round width, unless one of them has a fraction', async () => {
  const binsOf = async (numbers: readonly number[]) => {
    const surveyId = await given(numbers.map((value) => ({ codes: [1], numbers: [value] })));
    const found = await first(surveyId, 0, { kind: 'number', slot: 0, presence: 0, isWhole: true });
    return found.kind === 'number'
      ? found.moments.bins.map(({ low, high, count: amount }) => [low, high, amount])
      : assert.fail();
  };
  assert.deepEqual(await binsOf([0, 3, 1, 1]), [
    [0, 0, 1],
    [1, 1, 2],
    [2, 2, 0],
    [3, 3, 1],
  ]);
  assert.deepEqual(await binsOf([-1, -1]), [[-1, -1, 2]]);
  const ages = await binsOf([18, 19, 20, 67, 65]);
  assert.deepEqual([ages.length, ages[0], ages[1], ages.at(-1)], [11, [15, 20, 2], [20, 25, 1], [65, 70, 2]]);
  assert.deepEqual((await binsOf([0, 0.5, 3])).length, 15);
});

test('bins of a scale do not depend on the answers, and its ends are counted', async () => {
  const scale = { min: 0, max: 200_000, lastPoint: 199_998 };
  const found = await moments([77, 90, 9_999, 10_000, 0, 199_998, 199_998], scale);
  assert.deepEqual(
    found.bins.map(({ low, count }) => [low, count]),
    Array.from({ length: 20 }, (_, bin) => [bin * 10_000, [4, 1][bin] ?? (bin === 19 ? 2 : 0)]),
  );
  assert.deepEqual(
    [found.min, found.max, found.bins.at(-1)?.high, found.ends],
    [0, 199_998, 200_000, { first: 1, last: 2 }],
  );
  const empty = await moments([], scale);
  assert.deepEqual(
    [empty.count, empty.bins.length, empty.bins.every(({ count }) => count === 0), empty.ends],
    [0, 20, true, { first: 0, last: 0 }],
  );
});

test('an answer on an edge of a scale’s bins is in the upper bin, also at rounded edges', async () => {
  const scale = { min: -1, max: 1, lastPoint: 1 };
  const found = await moments([-0.2, -0.1, 0.1, 0.3], scale);
  assert.deepEqual(
    found.bins.filter(({ count }) => count > 0),
    [
      { low: -0.2, high: -0.1, count: 1 },
      { low: -0.1, high: 0, count: 1 },
      { low: 0.1, high: 0.2, count: 1 },
      { low: 0.3, high: 0.4, count: 1 },
    ],
  );
});

test('every number is in the bin that encloses it, also with edges that doubles only approximate', async () => {
  const numbers = Array.from({ length: 400 }, (_, index) => Number((0.1 * index - 3.3).toFixed(1)));
  const { bins, min, max } = await moments(numbers);
  assert.deepEqual([min, max, bins[0]?.low, bins.at(-1)?.high], [-3.3, 36.6, -5, 37.5]);
  for (const { low, high, count } of bins)
    assert.equal(
      count,
      numbers.filter((number) => number >= low && (number < high || (high === max && number === max))).length,
      `${low}–${high}`,
    );
});

const moderns = {
  dimension: {
    categories: [{ code: 2, value: 'b', text: 'b' }],
    source: { kind: 'code', slot: 1 },
  } satisfies Dimension,
  code: 2,
};
const binsIn = (result: CountResult | undefined) =>
  result?.kind === 'number'
    ? result.moments.bins.map(({ low, high, count: amount }) => [low, high, amount])
    : assert.fail();

test('bins follow from all answers of the survey, whatever is selected', async () => {
  const surveyId = await given(
    [
      [0, 1],
      [10, 2],
      [55, 2],
      [100, 1],
    ].map(([number = 0, group = 0]) => ({ codes: [1, group], numbers: [number] })),
  );
  const plan: CountPlan = { base: [0], requests: [{ kind: 'number', slot: 0, presence: 0 }] };
  const [all, some, none] = [
    await count(surveyId, plan),
    await count(surveyId, plan, { filters: [moderns] }),
    await count(surveyId, plan, { startDate: new Date(givenStart + dayMs) }),
  ];
  assert.deepEqual(
    binsIn(some.results[0]).map(([low, high]) => [low, high]),
    binsIn(all.results[0]).map(([low, high]) => [low, high]),
  );
  assert.deepEqual(
    binsIn(some.results[0]).filter(([, , amount]) => amount !== 0),
    [
      [10, 15, 1],
      [55, 60, 1],
    ],
  );
  assert.deepEqual(
    [none.base, binsIn(none.results[0]).length, binsIn(none.results[0]).every(([, , amount]) => amount === 0)],
    [0, 20, true],
  );
  await database.store([responseLine({ surveyId, codes: [1, 1], numbers: [200] })]);
  assert.deepEqual(
    binsIn((await count(surveyId, plan, { filters: [moderns] })).results[0]).filter(([, , amount]) => amount !== 0),
    [
      [10, 20, 1],
      [50, 60, 1],
    ],
    'they move with the survey',
  );
});

test('bins cover the bounds of a number, and more if answers are beyond them', async () => {
  const surveyId = await given([
    { codes: [1], numbers: [0.15] },
    { codes: [1], numbers: [0.3] },
  ]);
  const ask = async (bounds: { min: number; max: number }, isWhole = false) =>
    binsIn(
      (
        await count(surveyId, {
          base: [0],
          requests: [{ kind: 'number', slot: 0, presence: 0, bounds, ...(isWhole && { isWhole }) }],
        })
      ).results[0],
    );
  const unit = await ask({ min: 0, max: 1 });
  assert.deepEqual(
    [unit.length, unit.filter(([, , amount]) => amount !== 0)],
    [
      20,
      [
        [0.15, 0.2, 1],
        [0.3, 0.35, 1],
      ],
    ],
  );
  const wider = await ask({ min: 0.2, max: 1 });
  assert.deepEqual(
    [wider[0]?.[0], wider.at(-1)?.[1], wider.reduce((sum, [, , amount = 0]) => sum + amount, 0)],
    [0.15, 1, 2],
  );
  const empty = await count(newId(), {
    base: [0],
    requests: [{ kind: 'number', slot: 0, presence: 0, bounds: { min: 1, max: 5 }, isWhole: true }],
  });
  assert.deepEqual(
    binsIn(empty.results[0]),
    [1, 2, 3, 4, 5].map((number) => [number, number, 0]),
  );
});

test('numbers and bins come from one state of the table, by one statement once their range is known', async () => {
  const surveyId = await given([
    { codes: [1], numbers: [1] },
    { codes: [1], numbers: [3] },
  ]);
  const statements: string[] = [];
  const watched = createTotalsStore({
    clickhouse: {
      ...database.clickhouse,
      select: (sql, options) => {
        statements.push(sql);
        return database.clickhouse.select(sql, options);
      },
    },
  });
  const ask = () =>
    watched.countSurvey({
      surveyId,
      plans: [{ questionId: 'q', plan: { base: [0], requests: [{ kind: 'number', slot: 0, presence: 0 }] } }],
    });
  await ask();
  statements.length = 0;
  const { perQuestion } = await ask();
  assert.equal(statements.length, 1);
  assert.equal(
    binsIn(perQuestion.get('q')?.results[0]).reduce((sum, [, , amount = 0]) => sum + amount, 0),
    2,
  );
});

/** A store whose time is given, and before each of whose statements something happens. */
function disturbed(before: (sql: string) => Promise<void>) {
  let nowMs = 0;
  const limits: number[] = [];
  const select: ResponseDatabase['clickhouse']['select'] = async (sql, options) => {
    limits.push(options?.timeoutMs ?? 0);
    await before(sql);
    return database.clickhouse.select(sql, { ...options, timeoutMs: 60_000 });
  };
  const store = createTotalsStore({ clickhouse: { ...database.clickhouse, select }, now: () => nowMs });
  return {
    store,
    limits,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

test('numbers that grow meanwhile are counted twice at most, and the last bin reaches the greatest', async () => {
  const surveyId = await given([
    { codes: [1], numbers: [0] },
    { codes: [1], numbers: [100] },
  ]);
  const plans = [
    { questionId: 'q', plan: { base: [0], requests: [{ kind: 'number', slot: 0, presence: 0 }] } satisfies CountPlan },
  ];
  let [greatest, full] = [100, 0];
  const { store } = disturbed(async (sql) => {
    if (!sql.includes('quantileExact')) return;
    full += 1;
    greatest += 50;
    await database.store([
      responseLine({
        surveyId,
        codes: [1],
        numbers: [greatest],
        submittedAtMs: givenStart + greatest * 3_600_000,
      }),
    ]);
  });
  await store.countSurvey({ surveyId, plans });
  for (const isComplete of [undefined, true]) {
    full = 0;
    const counted = await store.countSurvey({ surveyId, plans, isComplete });
    const [result] = counted.perQuestion.get('q')?.results ?? [];
    assert.ok(result?.kind === 'number' && full <= 2, `${full} full counts`);
    assert.deepEqual([result.moments.max, result.moments.bins.at(-1)?.high], [greatest, greatest]);
    assert.ok(result.moments.bins.length > 8 && result.moments.bins.length <= 20);
    assert.equal(
      result.moments.bins.reduce((sum, { count: amount }) => sum + amount, 0),
      counted.total,
    );
  }
});

test('all statements of a count share one time limit, and bins are not counted again in its second half', async () => {
  const surveyId = await given([
    { codes: [1], numbers: [0] },
    { codes: [1], numbers: [100] },
  ]);
  const plans = [
    { questionId: 'q', plan: { base: [0], requests: [{ kind: 'number', slot: 0, presence: 0 }] } satisfies CountPlan },
  ];
  let greatest = 100;
  const { store, limits, pass } = disturbed(async (sql) => {
    pass(8000);
    if (sql.includes('quantileExact')) {
      greatest += 50;
      await database.store([
        responseLine({
          surveyId,
          codes: [1],
          numbers: [greatest],
          submittedAtMs: givenStart + greatest * 3_600_000,
        }),
      ]);
    }
  });
  const { total } = await store.countSurvey({ surveyId, plans });
  assert.deepEqual([total, limits], [3, [30_000, 22_000, 14_000]]);
});

test('hidden options have counts over the whole survey beside those of the selection', async () => {
  const surveyId = await given([{ codes: [1, 2, 0b1] }, { codes: [2, 1, 0b10] }, { codes: [3, 2, 0b11] }]);
  const plan: CountPlan = {
    base: [0],
    requests: [
      { kind: 'codes', slot: 0, needsUnfiltered: true },
      { kind: 'codes', slot: 0 },
      { kind: 'bits', slots: [2], needsUnfiltered: true },
    ],
  };
  const [hidden, plain, bits] = (await count(surveyId, plan, { filters: [moderns] })).results;
  const codesOf = (counts: ReadonlyMap<number, number> | undefined) =>
    [...(counts ?? [])].sort(([one], [other]) => one - other);
  assert.ok(hidden?.kind === 'codes' && plain?.kind === 'codes' && bits?.kind === 'bits');
  assert.deepEqual(
    [codesOf(hidden.counts), codesOf(hidden.unfiltered), plain.unfiltered],
    [
      [
        [1, 1],
        [3, 1],
      ],
      [
        [1, 1],
        [2, 1],
        [3, 1],
      ],
      undefined,
    ],
  );
  assert.deepEqual(
    [bits.counts.slice(0, 2), bits.unfiltered?.slice(0, 2)],
    [
      [2, 1],
      [2, 2],
    ],
  );
  const [unnarrowed] = (await count(surveyId, plan)).results;
  assert.ok(unnarrowed?.kind === 'codes' && unnarrowed.unfiltered === undefined);
});

test('bins work at the ends of the range of doubles', async () => {
  const { bins } = await moments([-1.7e308, 1.7e308, 0]);
  assert.equal(
    bins.reduce((sum, bin) => sum + bin.count, 0),
    3,
  );
  const tiny = await moments([1, 1 + Number.EPSILON]);
  assert.equal(
    tiny.bins.reduce((sum, bin) => sum + bin.count, 0),
    2,
  );
});

test('several numbers of one survey are counted separately', async () => {
  const surveyId = await given([
    { codes: [1, 1], numbers: [1, 100] },
    { codes: [1, 0], numbers: [3] },
    { codes: [0, 1], numbers: [0, 300] },
  ]);
  const { results } = await count(surveyId, {
    base: [0, 1],
    requests: [
      { kind: 'number', slot: 1, presence: 1 },
      { kind: 'number', slot: 0, presence: 0 },
    ],
  });
  const averages = results.map((result) =>
    result.kind === 'number'
      ? [result.moments.average, result.moments.bins[0]?.count, result.moments.bins.at(-1)?.count]
      : [],
  );
  assert.deepEqual(averages, [
    [200, 1, 1],
    [2, 1, 1],
  ]);
});

test('texts are counted by value, most frequent first', async () => {
  assert.deepEqual(await keys([`it's`, 'b"\\', 'a', `it's`, null, ''], 'value'), [
    { key: `it's`, count: 2 },
    { key: '', count: 1 },
    { key: 'a', count: 1 },
    { key: 'b"\\', count: 1 },
  ]);
});

test('addresses are counted by domain, times by hour, uploads by media type', async () => {
  assert.deepEqual(await keys(['A@Example.ORG', 'b@example.org', '"odd@name"@münchen.de'], 'emailDomain'), [
    { key: 'example.org', count: 2 },
    { key: 'münchen.de', count: 1 },
  ]);
  assert.deepEqual(await keys(['09:30', '09:59:59', '23:00'], 'hour'), [
    { key: '09', count: 2 },
    { key: '23', count: 1 },
  ]);
  assert.deepEqual(
    await keys([`${newId()} image/png`, `${newId()} image/png`, `${newId()} application/pdf`], 'mediaType'),
    [
      { key: 'image/png', count: 2 },
      { key: 'application/pdf', count: 1 },
    ],
  );
});

test('words are counted in lower case in every script, the fifty most frequent', async () => {
  const counts = await keys(
    ['Größe GRÖSSE größe, x', 'Привет, МИР! привет-мир', '漢字 漢字 漢', null, 'שלום 42 42'],
    'words',
  );
  assert.deepEqual(counts, [
    { key: '42', count: 2 },
    { key: 'größe', count: 2 },
    { key: 'мир', count: 2 },
    { key: 'привет', count: 2 },
    { key: '漢字', count: 2 },
    { key: 'grösse', count: 1 },
    { key: 'שלום', count: 1 },
  ]);
  const surveyId = await given([
    { codes: [1], texts: [Array.from({ length: 80 }, (_, index) => `word${index} word${index % 60}`).join(' ')] },
  ]);
  const many = await first(surveyId, 0, { kind: 'text', slot: 0, presence: 0, by: 'words' });
  assert.ok(many.kind === 'text');
  assert.equal(many.counts.length, 50);
  const counted = many.counts.reduce((sum, { count: mentions }) => sum + mentions, 0);
  assert.deepEqual(many.others, { keys: 30, count: 160 - counted }, 'what is not given is summed up');
});

test('marks, apostrophes and joiners belong to words, and differently encoded equal words are counted together', async () => {
  for (const [text, words] of spelledWords) {
    const wanted = new Map<string, number>();
    for (const word of words) wanted.set(word, (wanted.get(word) ?? 0) + 1);
    const counts = await keys([text], 'words');
    assert.deepEqual(
      new Map(counts.map(({ key, count: mentions }) => [key, mentions])),
      new Map(
        [...wanted].sort(
          ([one], [other]) => counts.findIndex(({ key }) => key === one) - counts.findIndex(({ key }) => key === other),
        ),
      ),
      text,
    );
  }
});

test('a text of another script makes words be counted with the full pattern, in one question or several', async () => {
  const usual = ['Größe, größe — “don’t” 42', 'Привет 漢字の漢字 👍 €5', 'plain words, plain texts'];
  const unusual = ['हिन्दी Café'.normalize('NFD'), 'col·lecció 3️⃣ ❤️', 'İstanbul'];
  const surveyId = newId();
  const store = (texts: readonly string[]) =>
    database.store(
      texts.map((text) => responseLine({ surveyId, codes: [1, 1], texts: [text, text] })),
      { codeColumns: 64 },
    );
  const wordsOf = async (store: TotalsStore, slots: readonly number[]) => {
    const plans = slots.map((slot) => ({
      questionId: `q${slot}`,
      plan: { base: [slot], requests: [{ kind: 'text', slot, presence: slot, by: 'words' }] } satisfies CountPlan,
    }));
    const { perQuestion } = await store.countSurvey({ surveyId, plans });
    return [...perQuestion.values()].map(
      ({ results: [result] }) =>
        result?.kind === 'text' && Object.fromEntries(result.counts.map(({ key, count: mentions }) => [key, mentions])),
    );
  };
  const wanted = (texts: readonly string[]) => {
    const tally: Record<string, number> = {};
    for (const word of texts.flatMap(wordsIn)) tally[word] = (tally[word] ?? 0) + 1;
    return tally;
  };
  const reads: string[] = [];
  const select: ClickHouse['select'] = (sql, options) => {
    reads.push(sql);
    return database.clickhouse.select(sql, options);
  };
  const counting = createTotalsStore({ clickhouse: { ...database.clickhouse, select } });
  const readsForAny = () => reads.filter((sql) => sql.includes('{L}')).length;
  await store(usual);
  assert.deepEqual([await wordsOf(counting, [0]), readsForAny()], [[wanted(usual)], 0]);
  await store(unusual);
  assert.deepEqual([await wordsOf(counting, [0]), readsForAny()], [[wanted([...usual, ...unusual])], 1]);
  const all = wanted([...usual, ...unusual]);
  assert.deepEqual(await wordsOf(createTotalsStore({ clickhouse: database.clickhouse }), [0, 1]), [all, all]);
});
