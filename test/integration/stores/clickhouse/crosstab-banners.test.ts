import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CrosstabCounts } from '../../../../src/domain/analytics/crosstab-counts.ts';
import type { Dimension } from '../../../../src/domain/questions/contract.ts';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { type CrosstabStore, createCrosstabStore } from '../../../../src/stores/clickhouse/counts/crosstab.ts';
import { categories, several, single } from '../../../support/dimensions.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  givenStart,
  type ResponseDatabase,
  responseLine,
  useResponseDatabase,
} from '../../../support/response-database.ts';

let database: ResponseDatabase;
let crosstab: CrosstabStore;

useResponseDatabase((opened) => {
  database = opened;
  crosstab = createCrosstabStore({ clickhouse: database.clickhouse });
});

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
