import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { interpretCrosstab } from '../../../../src/domain/analytics/crosstab.ts';
import type { CrosstabCounts } from '../../../../src/domain/analytics/crosstab-counts.ts';
import type { Dimension } from '../../../../src/domain/questions/contract.ts';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { type CrosstabStore, createCrosstabStore } from '../../../../src/stores/clickhouse/counts/crosstab.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  type GivenResponse,
  givenStart,
  openResponseDatabase,
  type ResponseDatabase,
  responseLine,
} from '../../../support/response-database.ts';

let database: ResponseDatabase;
let crosstab: CrosstabStore;

before(async () => {
  database = await openResponseDatabase();
  crosstab = createCrosstabStore({ clickhouse: database.clickhouse });
});

after(() => database.close());

const categories = (...codes: number[]) => codes.map((code) => ({ code, value: `v${code}`, text: `Text ${code}` }));
const single = (slot: number, ...codes: number[]): Dimension => ({
  categories: categories(...codes),
  source: { kind: 'code', slot },
});
const several = (slots: number[], ...codes: number[]): Dimension => ({
  categories: categories(...codes),
  source: { kind: 'bits', slots },
});

async function given(responses: readonly Omit<GivenResponse, 'surveyId'>[]): Promise<string> {
  const surveyId = newId();
  await database.store(responses.map((response) => responseLine({ surveyId, ...response })));
  return surveyId;
}

const cellsOf = ({ cells }: CrosstabCounts) =>
  new Map(cells.map(({ row, column, count }) => [`${row}×${column}`, count]));

test('two questions are crossed over the responses that answered both', async () => {
  const surveyId = await given([
    { codes: [1, 1] },
    { codes: [1, 2] },
    { codes: [1, 2] },
    { codes: [2, 1] },
    { codes: [1] },
    { codes: [0, 2] },
    {},
  ]);
  const counted = await crosstab.countCrosstab({ surveyId, rows: single(0, 1, 2), columns: single(1, 1, 2) });
  assert.deepEqual(Object.fromEntries(cellsOf(counted)), { '1×1': 1, '1×2': 2, '2×1': 1 });
  assert.deepEqual(
    [counted.rowTotals, counted.columnTotals, counted.total],
    [
      new Map([
        [1, 3],
        [2, 1],
      ]),
      new Map([
        [1, 2],
        [2, 2],
      ]),
      4,
    ],
  );
  assert.equal(counted.weighted, undefined);
});

test('a crosstab of questions that nobody answered both is empty', async () => {
  const surveyId = await given([{ codes: [1] }]);
  for (const columns of [
    single(1, 1),
    single(900, 1),
    several([900, 901], 1, 20),
    several([], 1),
    { categories: [], source: { kind: 'first', items: [] } } satisfies Dimension,
  ])
    assert.deepEqual(await crosstab.countCrosstab({ surveyId, rows: single(0, 1), columns }), {
      cells: [],
      rowTotals: new Map(),
      columnTotals: new Map(),
      total: 0,
    });
});

test('a respondent with several answers counts in several cells but once in each total', async () => {
  const surveyId = await given([
    { codes: [0b11, 0b1, 1] },
    { codes: [0b10, 0, 2] },
    { codes: [0, 0b1, 2] },
    { codes: [0b1, 0, 0] },
  ]);
  const counted = await crosstab.countCrosstab({ surveyId, rows: several([0, 1], 1, 2, 17), columns: single(2, 1, 2) });
  assert.deepEqual(Object.fromEntries(cellsOf(counted)), { '1×1': 1, '2×1': 1, '17×1': 1, '2×2': 1, '17×2': 1 });
  assert.deepEqual(
    [counted.rowTotals, counted.columnTotals],
    [
      new Map([
        [1, 1],
        [2, 2],
        [17, 2],
      ]),
      new Map([
        [1, 1],
        [2, 2],
      ]),
    ],
  );
  assert.equal(counted.total, 3);
});

test('two questions with several answers each are crossed completely', async () => {
  const surveyId = await given([{ codes: [0b11, 0b101] }, { codes: [0b10, 0b100] }]);
  const counted = await crosstab.countCrosstab({ surveyId, rows: several([0], 1, 2), columns: several([1], 1, 3) });
  assert.deepEqual(Object.fromEntries(cellsOf(counted)), { '1×1': 1, '1×3': 1, '2×1': 1, '2×3': 2 });
  assert.deepEqual([counted.rowTotals.get(2), counted.columnTotals.get(3), counted.total], [2, 2, 2]);
});

test('respondents that two columns have in common are counted once for each pair of columns', async () => {
  const surveyId = await given([
    { codes: [1, 0b111], numbers: [2] },
    { codes: [2, 0b11], numbers: [3] },
    { codes: [2, 0b1], numbers: [1] },
    // Not in any row.
    { codes: [0, 0b111], numbers: [1] },
  ]);
  const query = { surveyId, rows: single(0, 1, 2), columns: several([1], 1, 2, 3) };
  const inOrder = <Pair extends { one: number; other: number }>(pairs: readonly Pair[] = []) =>
    [...pairs].sort((first, second) => first.one - second.one || first.other - second.other);
  const counted = await crosstab.countCrosstab(query);
  assert.deepEqual(inOrder(counted.columnOverlaps), [
    { one: 1, other: 2, count: 2 },
    { one: 1, other: 3, count: 1 },
    { one: 2, other: 3, count: 1 },
  ]);
  assert.deepEqual([counted.cells.length, counted.rowTotals.size, counted.total], [5, 2, 3]);
  const { weighted } = await crosstab.countCrosstab({ ...query, weight: { kind: 'number', slot: 0, presence: 1 } });
  assert.deepEqual(inOrder(weighted?.columnOverlaps), [
    { one: 1, other: 2, weight: 5, squares: 13 },
    { one: 1, other: 3, weight: 2, squares: 4 },
    { one: 2, other: 3, weight: 2, squares: 4 },
  ]);
});

test('a question can be crossed with itself', async () => {
  const surveyId = await given([{ codes: [1] }, { codes: [2] }, { codes: [2] }]);
  const counted = await crosstab.countCrosstab({ surveyId, rows: single(0, 1, 2), columns: single(0, 1, 2) });
  assert.deepEqual(Object.fromEntries(cellsOf(counted)), { '1×1': 1, '2×2': 2 });
});

test('a ranking counts by the item that was ranked first', async () => {
  const ranking: Dimension = {
    categories: categories(4, 5, 6),
    source: {
      kind: 'first',
      items: [
        { slot: 1, code: 4 },
        { slot: 2, code: 5 },
        { slot: 3, code: 6 },
      ],
    },
  };
  const surveyId = await given([
    { codes: [1, 2, 1, 3] },
    { codes: [1, 1, 0, 0] },
    { codes: [2, 0, 0, 0] },
    { codes: [2, 3, 2, 1] },
  ]);
  const counted = await crosstab.countCrosstab({ surveyId, rows: ranking, columns: single(0, 1, 2) });
  assert.deepEqual(Object.fromEntries(cellsOf(counted)), { '5×1': 1, '4×1': 1, '6×2': 1 });
  assert.equal(counted.total, 3);
});

test('codes outside the categories of a dimension count neither in cells nor in totals', async () => {
  const surveyId = await given([
    { codes: [1, 0b1] },
    { codes: [9, 0b1] },
    { codes: [65_535, 0b1] },
    { codes: [1, 0b1000] },
  ]);
  const counted = await crosstab.countCrosstab({ surveyId, rows: single(0, 1, 65_535), columns: several([1], 1, 2) });
  assert.deepEqual(Object.fromEntries(cellsOf(counted)), { '1×1': 1, '65535×1': 1 });
  assert.equal(counted.total, 2);
});

test('a crosstab shows a hidden option if anybody in the whole survey chose it, whatever is selected', async () => {
  const surveyId = await given([{ codes: [1, 1] }, { codes: [2, 2] }, { codes: [3, 0] }]);
  const shrunk = (slot: number): Dimension => ({
    categories: [1, 2, 3, 4].map((code) => ({ code, value: `v${code}`, text: `Text ${code}`, isHidden: code > 1 })),
    source: { kind: 'code', slot },
  });
  const [rows, columns] = [shrunk(0), shrunk(1)];
  const shownIn = async (filters: { dimension: Dimension; code: number }[]) => {
    const shown = interpretCrosstab({
      ...(await crosstab.countCrosstab({ surveyId, rows, columns, filters })),
      rows,
      columns,
    });
    return [shown.rows.map(({ value }) => value), shown.columns.map(({ value }) => value), shown.total];
  };
  assert.deepEqual(await shownIn([]), [['v1', 'v2', 'v3'], ['v1', 'v2'], 2]);
  assert.deepEqual(await shownIn([{ dimension: single(0, 1), code: 1 }]), [['v1', 'v2', 'v3'], ['v1', 'v2'], 1]);
});

test('only hidden options are counted over the whole survey, however many different answers there are', async () => {
  const surveyId = await given([
    ...Array.from({ length: 300 }, (_, index) => ({ codes: [1, index << 1, index] })),
    { codes: [2, 0b10, 0b1] },
    { codes: [1, 0b1] },
  ]);
  const options: Dimension = {
    categories: categories(...Array.from({ length: 32 }, (_, index) => index + 1)).map((category) => ({
      ...category,
      isHidden: category.code === 1 || category.code === 32,
    })),
    source: { kind: 'bits', slots: [1, 2] },
  };
  const select: ResponseDatabase['clickhouse']['select'] = (sql, given) =>
    database.clickhouse.select(sql, { ...given, settings: { ...given?.settings, max_rows_to_group_by: 20 } });
  const { countCrosstab } = createCrosstabStore({ clickhouse: { ...database.clickhouse, select } });
  const counted = await countCrosstab({
    surveyId,
    rows: single(0, 1, 2),
    columns: options,
    filters: [{ dimension: single(0, 2), code: 2 }],
  });
  assert.deepEqual(
    [counted.total, counted.columnTotals, counted.chosenInSurvey],
    [
      1,
      new Map([
        [2, 1],
        [17, 1],
      ]),
      { columns: new Set([1]) },
    ],
  );
});

test('filters, dates and superseded versions apply before crosstabs are counted', async () => {
  const surveyId = newId();
  const [merged, deleted] = [newId(), newId()];
  const line = (response: Omit<GivenResponse, 'surveyId'>) => responseLine({ surveyId, ...response });
  await database.store([
    line({ responseId: merged, codes: [1, 1, 1], outcome: 'PARTIAL' }),
    line({ responseId: deleted, codes: [1, 1, 1] }),
    line({ codes: [1, 2, 2], submittedAtMs: givenStart + 1000 }),
  ]);
  await database.store([
    line({ responseId: merged, version: 2, codes: [2, 2, 1] }),
    encodeTombstone(surveyId, deleted, givenStart),
  ]);
  const query = { surveyId, rows: single(0, 1, 2), columns: single(1, 1, 2) };
  assert.deepEqual(Object.fromEntries(cellsOf(await crosstab.countCrosstab(query))), { '2×2': 1, '1×2': 1 });
  const filters = [{ dimension: single(2, 1, 2), code: 1 }];
  assert.deepEqual(Object.fromEntries(cellsOf(await crosstab.countCrosstab({ ...query, filters }))), { '2×2': 1 });
  assert.equal((await crosstab.countCrosstab({ ...query, startDate: new Date(givenStart + 1) })).total, 1);
  assert.equal((await crosstab.countCrosstab({ ...query, isComplete: false })).total, 0);
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

test('a banner is counted in one statement, with the same result as each of its tables alone', async () => {
  const surveyId = newId();
  const codes = Array.from({ length: 300 }, (_, n) => [1 + (n % 3), (n % 4) + 1, n % 8, n % 5 === 0 ? 0 : 1 + (n % 2)]);
  const ids = codes.map(() => newId());
  const line = (n: number, version: number) =>
    responseLine({
      surveyId,
      responseId: ids[n] ?? '',
      version,
      codes: codes[n] ?? [],
      numbers: [(n % 7) / 2],
      outcome: version > 1 ? 'COMPLETED' : 'PARTIAL',
      submittedAtMs: givenStart + n,
    });
  await database.store(codes.map((_, n) => line(n, 1)));
  await database.store(codes.flatMap((_, n) => (n % 10 === 0 ? [line(n, 2)] : [])));
  const rows = single(0, 1, 2, 3);
  const columns = [single(1, 1, 2, 3, 4), several([2], 1, 2, 3), several([], 1), single(3, 1, 2)];
  let statements: string[] = [];
  const { countBanner, countCrosstab } = createCrosstabStore({
    clickhouse: {
      ...database.clickhouse,
      select: (sql, ...given) => {
        statements.push(sql);
        return database.clickhouse.select(sql, ...given);
      },
    },
  });
  // A statement that was disproved by a merge runs again, and one over rows that lie in several parts may count a table
  // twice.
  const tablesIn = (sql: string): number => sql.split('AS rowCodes').length - 1;
  for (const weight of [undefined, { kind: 'number', slot: 0, presence: 0 } as const]) {
    statements = [];
    const banner = await countBanner({ surveyId, rows, columns, weight });
    const counting = statements.map(tablesIn).filter((count) => count > 0);
    assert.ok(
      counting.length > 0 && counting.every((count) => count % 3 === 0),
      `${counting.join(', ')} tables in a statement; the impossible one is not asked for`,
    );
    const alone = await Promise.all(
      columns.map((dimension) => countCrosstab({ surveyId, rows, columns: dimension, weight })),
    );
    assert.deepEqual(banner.map(inOrder), alone.map(inOrder));
    assert.deepEqual(
      banner.map(({ total }) => total),
      weight ? [257, 225, 0, 206] : [300, 262, 0, 240],
    );
  }
});

const byPlace = (one: { row: number; column: number }, other: { row: number; column: number }): number =>
  one.row - other.row || one.column - other.column;
/** Rows come in any order. */
const inOrder = ({ cells, rowTotals, columnTotals, total, weighted }: CrosstabCounts) => ({
  cells: [...cells].sort(byPlace),
  rowTotals,
  columnTotals,
  total,
  weighted: weighted && { ...weighted, cells: [...weighted.cells].sort(byPlace) },
});

test('a ranking of 200 items is crossed with a long banner before and after a response is deleted', async () => {
  const items = Array.from({ length: 200 }, (_, n) => ({ slot: n, code: n + 1 }));
  const ranking: Dimension = {
    categories: categories(...items.map(({ code }) => code)),
    source: { kind: 'first', items },
  };
  const surveyId = newId();
  const [gone, kept] = [newId(), newId()];
  const codes = (first: number) => items.map(({ slot }) => (slot === first ? 1 : 2));
  await database.store(
    [gone, kept].map((responseId, n) => responseLine({ surveyId, responseId, codes: codes(n) })),
    { codeColumns: 200 },
  );
  const columns = Array.from({ length: 21 }, () => single(0, 1, 2));
  // Ten seconds of work: beside other tests it may take longer than a count may.
  const totals = async () =>
    (await eventually(() => crosstab.countBanner({ surveyId, rows: ranking, columns }), 120_000)).map(
      ({ total }) => total,
    );
  assert.deepEqual(
    await totals(),
    Array.from({ length: 21 }, () => 2),
  );
  await database.store([encodeTombstone(surveyId, gone, givenStart)], { codeColumns: 200 });
  assert.deepEqual(
    await totals(),
    Array.from({ length: 21 }, () => 1),
  );
});
