import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dimension } from '../../../../src/domain/questions/contract.ts';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { type AnnotationTable, createAnnotationTable } from '../../../../src/stores/clickhouse/annotation-table.ts';
import { createCrosstabStore } from '../../../../src/stores/clickhouse/counts/crosstab.ts';
import { createTotalsStore } from '../../../../src/stores/clickhouse/counts/totals.ts';
import {
  givenStart,
  type ResponseDatabase,
  responseLine,
  useResponseDatabase,
} from '../../../support/response-database.ts';

let database: ResponseDatabase;
let table: AnnotationTable;

useResponseDatabase((opened) => {
  database = opened;
  table = createAnnotationTable(database);
});

const categories = (...values: string[]) => values.map((value, index) => ({ code: index + 1, value, text: value }));
const single: Dimension = { categories: categories('one', 'two'), source: { kind: 'code', slot: 0 } };
const findings = (edition: string, values: string[], questionId: string | null = null): Dimension => ({
  categories: categories(...values),
  source: { kind: 'annotation', edition, questionId },
});

const [first, second] = [newId(), newId()];
const names = ['food', "it's \\ 'quoted'", ...Array.from({ length: 20 }, (_, n) => `theme ${n}`)];

interface Given {
  responseId: string;
  code: number;
  found: { questionId: string; values: string[] }[];
}

async function* pages<T>(all: readonly T[]): AsyncGenerator<T[]> {
  for (let at = 0; at < all.length; at += 7) yield all.slice(at, at + 7);
}

/**
 * Responses with findings in two questions; every third was changed once, which leaves an older version of it behind.
 */
async function givenFindings(count: number) {
  const [surveyId, edition] = [newId(), newId()];
  const given = Array.from(
    { length: count },
    (_, n): Given => ({
      responseId: newId(),
      code: 1 + (n % 2),
      found: [
        { questionId: first, values: [names[n % names.length] ?? '', names[(n * 7) % names.length] ?? ''] },
        ...(n % 4 === 0 ? [{ questionId: second, values: [names[(n * 3 + 1) % names.length] ?? ''] }] : []),
      ],
    }),
  );
  const line = ({ responseId, code }: Given, version: number) =>
    responseLine({ surveyId, responseId, version, codes: [version === 1 ? 3 - code : code] });
  await database.store(given.filter((_, n) => n % 3 === 0).map((response) => line(response, 1)));
  await database.store(given.map((response) => line(response, 2)));
  await table.insert(
    { surveyId, edition },
    pages(given.flatMap(({ responseId, found }) => found.map((one) => ({ responseId, ...one })))),
  );
  return { surveyId, edition, given };
}

const has =
  (value: string, questionId?: string) =>
  ({ found }: Given) =>
    found.some((one) => (questionId === undefined || one.questionId === questionId) && one.values.includes(value));

test('a condition on an annotation selects the responses that have it, with and without superseded versions', async () => {
  const { surveyId, edition, given } = await givenFindings(120);
  const { countSurvey } = createTotalsStore(database);
  for (const questionId of [undefined, second]) {
    const dimension = findings(edition, names, questionId ?? null);
    for (const code of [1, 2, 20]) {
      const expected = given.filter(has(names[code - 1] ?? '', questionId));
      const filters = [
        { dimension, code },
        { dimension: single, code: 1 },
      ];
      assert.equal(
        (await countSurvey({ surveyId, plans: [], filters })).total,
        expected.filter((response) => response.code === 1).length,
      );
      const shown: string[] = [];
      for await (const { responseId } of database.responses.stream({ surveyId, conditions: [{ dimension, code }] }))
        shown.push(responseId);
      assert.deepEqual(shown.sort(), expected.map(({ responseId }) => responseId).sort());
    }
  }
});

test('annotations are crossed with answers and with each other like options', async () => {
  const { surveyId, edition, given } = await givenFindings(120);
  const { countCrosstab } = createCrosstabStore(database);
  const table = await countCrosstab({ surveyId, rows: findings(edition, names), columns: single });
  const count = (row: number, column: number) =>
    given.filter((response) => has(names[row - 1] ?? '')(response) && response.code === column).length;
  const expected = names
    .flatMap((_, index) => [1, 2].map((column) => ({ row: index + 1, column, count: count(index + 1, column) })))
    .filter((cell) => cell.count > 0);
  const byPlace = (one: { row: number; column: number }, other: { row: number; column: number }) =>
    one.row - other.row || one.column - other.column;
  assert.deepEqual([...table.cells].sort(byPlace), expected);
  assert.equal(table.total, given.length);
  assert.deepEqual(
    [...table.rowTotals].sort(([one], [other]) => one - other),
    names.map((name, index) => [index + 1, given.filter(has(name)).length]),
  );
  const both = await countCrosstab({
    surveyId,
    rows: findings(edition, names, first),
    columns: findings(edition, names, second),
  });
  assert.equal(both.total, given.filter(({ found }) => found.length === 2).length);
  const cell = both.cells[0];
  assert.ok(cell);
  assert.equal(
    cell.count,
    given.filter(
      (response) =>
        has(names[cell.row - 1] ?? '', first)(response) && has(names[cell.column - 1] ?? '', second)(response),
    ).length,
  );
  assert.equal((await countCrosstab({ surveyId, rows: findings(edition, []), columns: single })).total, 0);
});

test('many themes are crossed with a long banner, with and without superseded versions', async () => {
  const themes = Array.from({ length: 50 }, (_, n) => `theme ${n}`);
  const {
    surveyId,
    edition,
    given: [gone, ...left],
  } = await givenFindings(60);
  assert.ok(gone);
  const { countBanner } = createCrosstabStore(database);
  const asked = { surveyId, rows: findings(edition, themes), columns: Array.from({ length: 21 }, () => single) };
  const totals = async (weight?: { kind: 'metadata'; key: string }) =>
    (await countBanner({ ...asked, weight })).map(({ total }) => total);
  const speaking = (responses: readonly Given[]) =>
    Array.from(
      { length: 21 },
      () =>
        responses.filter(({ found }) => found.some(({ values }) => values.some((value) => themes.includes(value))))
          .length,
    );
  assert.deepEqual(await totals(), speaking([gone, ...left]));
  await database.store([encodeTombstone(surveyId, gone.responseId, givenStart)]);
  assert.deepEqual(await totals(), speaking(left));
  assert.deepEqual(
    await totals({ kind: 'metadata', key: 'none' }),
    speaking(left).map(() => 0),
  );
  await table.removeDeleted();
});

test('an edition added twice counts once, and other editions do not count', async () => {
  const { surveyId, edition, given } = await givenFindings(10);
  const again = given.flatMap(({ responseId, found }) => found.map((one) => ({ responseId, ...one })));
  await table.insert({ surveyId, edition }, pages(again));
  await table.insert({ surveyId, edition: newId() }, pages(again.map((one) => ({ ...one, values: ['food'] }))));
  const { total } = await createTotalsStore(database).countSurvey({
    surveyId,
    plans: [],
    filters: [{ dimension: findings(edition, names), code: 1 }],
  });
  assert.equal(total, given.filter(has('food')).length);
  assert.deepEqual(
    (await table.values({ surveyId, edition })).map(({ value }) => value).sort(),
    [...new Set(given.flatMap(({ found }) => found.flatMap(({ values }) => values)))].sort(),
  );
});

test('the values of an edition can be read by question', async () => {
  const { surveyId, edition, given } = await givenFindings(40);
  const asked = [newId(), second, first];
  const found = await table.valuesByQuestion({ surveyId, edition }, asked);
  assert.deepEqual(
    [...found].map(([questionId, values]) => [questionId, values.map(({ value }) => value).sort()]),
    asked.map((id) => [id, names.filter((name) => given.some(has(name, id))).sort()]),
  );
});

test('annotations of a deleted response do not count and are removed by the next removal', async () => {
  const {
    surveyId,
    edition,
    given: [gone, ...left],
  } = await givenFindings(9);
  assert.ok(gone);
  await database.store([encodeTombstone(surveyId, gone.responseId, givenStart)]);
  const filters = [{ dimension: findings(edition, names), code: 1 }];
  assert.equal(
    (await createTotalsStore(database).countSurvey({ surveyId, plans: [], filters })).total,
    left.filter(has('food')).length,
  );
  // The response with the same id in another survey, which is not deleted.
  const other = { surveyId: newId(), edition: newId() };
  await table.insert(other, [[{ responseId: gone.responseId, questionId: newId(), values: ['food'] }]]);
  const deleted = [];
  for await (const found of table.findDeleted()) deleted.push(found);
  assert.deepEqual(deleted, [{ surveyId, responseIds: [gone.responseId] }]);
  await table.removeDeleted();
  const rows = await database.clickhouse.select<[string]>(
    `SELECT DISTINCT response_id FROM ${database.clickhouse.table('findings')} WHERE survey_id = toUUID('${surveyId}')`,
  );
  assert.deepEqual(rows.map(([id]) => id).sort(), left.map(({ responseId }) => responseId).sort());
  assert.deepEqual(await table.values(other), [{ value: 'food', count: 1 }]);
});

test('editions are removed by id, and the annotations of a survey with the survey', async () => {
  const [one, other] = [await givenFindings(3), await givenFindings(3)];
  const names = async () => [...(await table.editions()).keys()];
  const sinceMs = Date.now() - 3_600_000;
  assert.deepEqual(
    [...(await table.editions()).values()].filter((writtenAtMs) => writtenAtMs < sinceMs),
    [],
  );
  await table.removeEditions([one.edition]);
  assert.deepEqual([(await names()).includes(one.edition), (await names()).includes(other.edition)], [false, true]);
  await table.removeOfSurvey(other.surveyId);
  assert.ok(!(await names()).includes(other.edition));
});
