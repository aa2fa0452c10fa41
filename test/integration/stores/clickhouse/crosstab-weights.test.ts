import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { type CrosstabStore, createCrosstabStore } from '../../../../src/stores/clickhouse/counts/crosstab.ts';
import { cellsOf, single } from '../../../support/dimensions.ts';
import {
  givenStart,
  type ResponseDatabase,
  responseLine,
  useResponseDatabase,
} from '../../../support/response-database.ts';

let database: ResponseDatabase;
let crosstab: CrosstabStore;
let given: ResponseDatabase['given'];

useResponseDatabase((opened) => {
  database = opened;
  ({ given } = database);
  crosstab = createCrosstabStore({ clickhouse: database.clickhouse });
});

test('weights are summed with their squares, and responses without one are left out and counted apart', async () => {
  const surveyId = await given([
    { codes: [1, 1, 1], numbers: [0.5] },
    { codes: [1, 1, 1], numbers: [2] },
    { codes: [1, 2, 1], numbers: [3] },
    { codes: [1, 2, 0], numbers: [] },
    { codes: [1, 2, 1], numbers: [0] },
    { codes: [1, 2, 1], numbers: [-1] },
    { codes: [0, 2, 1], numbers: [9] },
  ]);
  const counted = await crosstab.countCrosstab({
    surveyId,
    rows: single(0, 1),
    columns: single(1, 1, 2),
    weight: { kind: 'number', slot: 0, presence: 2 },
  });
  assert.deepEqual(Object.fromEntries(cellsOf(counted)), { '1×1': 2, '1×2': 1 });
  assert.equal(counted.total, 3);
  const { weighted } = counted;
  assert.deepEqual(
    [...(weighted?.cells ?? [])].sort((one, other) => one.column - other.column),
    [
      { row: 1, column: 1, weight: 2.5, squares: 4.25 },
      { row: 1, column: 2, weight: 3, squares: 9 },
    ],
  );
  assert.deepEqual([weighted?.total, weighted?.unweightable], [{ weight: 5.5, squares: 13.25 }, 3]);
  assert.deepEqual(weighted?.rowTotals, new Map([[1, { weight: 5.5, squares: 13.25 }]]));
  assert.deepEqual(weighted?.columnTotals.get(2), { weight: 3, squares: 9 });
});

test('a weight may be in the metadata, under any key', async () => {
  const key = `w'"\\ 重`;
  const surveyId = await given([
    { codes: [1, 1], metadata: { [key]: ' 1.5' } },
    { codes: [1, 1], metadata: { [key]: 'heavy' } },
    { codes: [1, 1] },
    { codes: [1, 1], metadata: { [key]: 'inf' } },
  ]);
  const { weighted, total } = await crosstab.countCrosstab({
    surveyId,
    rows: single(0, 1),
    columns: single(1, 1),
    weight: { kind: 'metadata', key },
  });
  assert.deepEqual([total, weighted?.total, weighted?.unweightable], [1, { weight: 1.5, squares: 2.25 }, 3]);
});

test('white space around a weight in the metadata does not count', async () => {
  const weights = ['1.5\r', '1.5\n', '\t1.5', ' 1.5 ', '\r\n 1.5\v\f', '\u00a01.5\u3000', '\ufeff1.5'];
  const surveyId = await given(
    [...weights, '1. 5', '1.5x', ' \t', ''].map((weight) => ({ codes: [1, 1], metadata: { weight } })),
  );
  const { weighted, total } = await crosstab.countCrosstab({
    surveyId,
    rows: single(0, 1),
    columns: single(1, 1),
    weight: { kind: 'metadata', key: 'weight' },
  });
  assert.deepEqual([total, weighted?.total.weight, weighted?.unweightable], [weights.length, weights.length * 1.5, 4]);
});

test('a weight too large or too small to be squared does not count', async () => {
  const surveyId = await given(
    [1e-12, 1e12, 0.9e-12, 1.1e12, 1e300].map((weight) => ({ codes: [1, 1], numbers: [weight] })),
  );
  const { weighted } = await crosstab.countCrosstab({
    surveyId,
    rows: single(0, 1),
    columns: single(1, 1),
    weight: { kind: 'number', slot: 0, presence: 0 },
  });
  assert.deepEqual([weighted?.total, weighted?.unweightable], [{ weight: 1e12, squares: 1e24 }, 3]);
});

test('a weight that was changed replaces the old one completely', async () => {
  const surveyId = newId();
  const responseId = newId();
  await database.store([
    responseLine({ surveyId, responseId, codes: [1, 1], numbers: [1e12], outcome: 'PARTIAL' }),
    responseLine({ surveyId, codes: [1, 1], numbers: [0.1] }),
  ]);
  await database.store([responseLine({ surveyId, responseId, version: 2, codes: [1, 1], numbers: [0.2] })]);
  const { weighted, total } = await crosstab.countCrosstab({
    surveyId,
    rows: single(0, 1),
    columns: single(1, 1),
    weight: { kind: 'number', slot: 0, presence: 0 },
  });
  const { weight = 0, squares = 0 } = weighted?.total ?? {};
  assert.equal(total, 2);
  assert.ok(Math.abs(weight - 0.3) < 1e-12 && Math.abs(squares - 0.05) < 1e-12, `${weight} and ${squares}`);
});

test('weighted sums are exact to the last digit, in however many parts the responses lie and whatever their order', async () => {
  // Weights as raking makes them, with all their digits; the sum of doubles is the one that is nearest to the true sum.
  const count = 4000;
  const weights = Array.from({ length: count }, (_, n) => 0.05 + ((n * 0.6180339887498949) % 1) * 20);
  const lines = (surveyId: string) =>
    weights.map((weight, n) =>
      responseLine({ surveyId, codes: [1 + (n % 2), 1], numbers: [weight], submittedAtMs: givenStart + n }),
    );
  const truth = { weight: nearest(weights), squares: nearest(weights.map((weight) => weight * weight)) };
  for (const parts of [1, 8]) {
    for (const direction of [1, -1]) {
      const surveyId = newId();
      const ordered = direction === 1 ? lines(surveyId) : lines(surveyId).reverse();
      for (let part = 0; part < parts; part += 1)
        await database.store(ordered.slice((count * part) / parts, (count * (part + 1)) / parts));
      const { weighted } = await crosstab.countCrosstab({
        surveyId,
        rows: single(0, 1, 2),
        columns: single(1, 1),
        weight: { kind: 'number', slot: 0, presence: 0 },
      });
      assert.deepEqual(weighted?.total, truth, `${parts} parts, ${direction}`);
      assert.deepEqual(weighted?.columnTotals.get(1), truth);
    }
  }
});

/** The double nearest to the true sum of doubles from 2^-20 to 2^30, by whole numbers. */
function nearest(values: readonly number[]): number {
  const sum = values.reduce((total, value) => total + BigInt(value * 2 ** 72), 0n);
  return Number(sum) / 2 ** 72;
}

test('a metadata key is missing if the survey has responses, and the newest version of none has it', async () => {
  const lacks = (surveyId: string, key: string) => crosstab.lacksMetadataKey({ surveyId, key });
  assert.equal(await lacks(newId(), 'panel'), false);
  const surveyId = newId();
  const [kept, gone, changed] = [newId(), newId(), newId()];
  await database.store([
    responseLine({ surveyId, responseId: kept, metadata: { panel: '' } }),
    responseLine({ surveyId, responseId: gone, metadata: { house: '1' } }),
    responseLine({ surveyId, responseId: changed, metadata: { street: '1' } }),
  ]);
  const missing = async () => [
    await lacks(surveyId, 'panel'),
    await lacks(surveyId, 'house'),
    await lacks(surveyId, 'street'),
    await lacks(surveyId, 'Panel'),
  ];
  assert.deepEqual(await missing(), [false, false, false, true]);
  await database.store([
    encodeTombstone(surveyId, gone, givenStart),
    responseLine({ surveyId, responseId: changed, version: 2 }),
  ]);
  assert.deepEqual(await missing(), [false, true, true, true]);
  await database.store([encodeTombstone(surveyId, kept, givenStart), encodeTombstone(surveyId, changed, givenStart)]);
  assert.deepEqual(await missing(), [false, false, false, false]);
});
