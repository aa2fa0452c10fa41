import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CountPlan, CountResult } from '../../../../src/domain/questions/contract.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createTotalsStore } from '../../../../src/stores/clickhouse/counts/totals.ts';
import { givenStart, type ResponseDatabase, responseLine } from '../../../support/response-database.ts';
import { binsIn, useTotals } from '../../../support/use-totals.ts';

let database: ResponseDatabase;
const { given, count, moments } = useTotals((opened) => {
  ({ database } = opened);
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

test('all statements of a count end within its own limit, where it has one', async () => {
  const surveyId = await given([{ codes: [1], numbers: [5] }]);
  const plans = [
    { questionId: 'q', plan: { base: [0], requests: [{ kind: 'number', slot: 0, presence: 0 }] } satisfies CountPlan },
  ];
  const { store, limits, pass } = disturbed(async () => pass(1000));
  await store.countSurvey({ surveyId, plans, timeoutMs: 300_000 });
  assert.ok(limits.length > 1 && limits.every((limit) => limit > 290_000 && limit <= 300_000), String(limits));
});
