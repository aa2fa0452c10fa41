import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CountPlan } from '../../../../src/domain/questions/contract.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { givenStart, type ResponseDatabase, responseLine } from '../../../support/response-database.ts';
import { binsIn, moderns, useTotals } from '../../../support/use-totals.ts';

let database: ResponseDatabase;
const { given, count, first, moments } = useTotals((opened) => {
  ({ database } = opened);
});

const dayMs = 86_400_000;

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
