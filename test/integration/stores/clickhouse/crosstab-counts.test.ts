import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dimension } from '../../../../src/domain/questions/contract.ts';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { type CrosstabStore, createCrosstabStore } from '../../../../src/stores/clickhouse/counts/crosstab.ts';
import { interpretCrosstab } from '../../../support/crosstab.ts';
import { categories, cellsOf, several, single } from '../../../support/dimensions.ts';
import {
  type GivenResponse,
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

test('overlaps are those of the columns with respondents, however many other columns there could be', async () => {
  const many = (count: number, codes: number[], weight: number) =>
    Array.from({ length: count }, () => ({ codes: [...codes], numbers: [weight] }));
  // Half of each column is in both: z = 1.6 √2 = 2.3 between 66 and 50 % of 200.
  const surveyId = await given([
    ...many(50, [1, 0b11], 1),
    ...many(50, [2, 0b11], 1),
    ...many(66, [1, 0b1], 1),
    ...many(34, [2, 0b1], 1),
    ...many(50, [1, 0b10], 1),
    ...many(50, [2, 0b10], 1),
  ]);
  const rows = single(0, 1, 2);
  const options = (visible: number, hidden: number): Dimension => ({
    categories: categories(...Array.from({ length: visible + hidden }, (_, index) => index + 1)).map((category) => ({
      ...category,
      isHidden: category.code > visible,
    })),
    source: {
      kind: 'bits',
      slots: Array.from({ length: Math.ceil((visible + hidden) / 16) }, (_, index) => index + 1),
    },
  });
  for (const [visible, hidden] of [
    [2, 0],
    [150, 60],
    [3, 198],
    [0, 300],
    [250, 0],
  ] as const)
    for (const weight of [undefined, { kind: 'number', slot: 0, presence: 1 } as const]) {
      const columns = options(visible, hidden);
      const [counted, other] = await crosstab.countBanner({ surveyId, rows, columns: [columns, single(0, 1)], weight });
      assert.ok(counted && other);
      assert.deepEqual(counted.columnOverlaps, [{ one: 1, other: 2, count: 100 }], `${visible} and ${hidden}`);
      const table = interpretCrosstab({ ...counted, rows, columns }, { significance: 0.95 });
      assert.deepEqual(
        [table.isCompared, table.cells.map((line) => line.slice(0, 2).map(({ significantOver }) => significantOver))],
        [
          true,
          [
            [['v2'], []],
            [[], ['v1']],
          ],
        ],
      );
      assert.equal(other.total, 166);
    }
});

test('columns of which more than can be compared have respondents have no overlaps and are not compared', async () => {
  const chosen = (code: number) => Array.from({ length: 13 }, (_, word) => (word === code >> 4 ? 1 << (code & 15) : 0));
  const surveyId = await given(Array.from({ length: 201 }, (_, code) => ({ codes: [1, ...chosen(code)] })));
  const rows = single(0, 1);
  const columns = several(
    Array.from({ length: 13 }, (_, word) => word + 1),
    ...Array.from({ length: 201 }, (_, index) => index + 1),
  );
  const counted = await crosstab.countCrosstab({ surveyId, rows, columns });
  assert.deepEqual([counted.columnTotals.size, counted.columnOverlaps], [201, undefined]);
  assert.equal(interpretCrosstab({ ...counted, rows, columns }).isCompared, false);
  assert.throws(() => interpretCrosstab({ ...counted, rows, columns }, { significance: 0.95 }), {
    code: 'VALIDATION_ERROR',
  });
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
