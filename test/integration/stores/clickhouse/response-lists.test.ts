import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dimension } from '../../../../src/domain/questions/contract.ts';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { Problem } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { type ClickHouse, createClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import {
  createResponseStore,
  type ResponseRecord,
  type ResponseStore,
} from '../../../../src/stores/clickhouse/responses.ts';
import { single as codeDimension } from '../../../support/dimensions.ts';
import {
  responseLine as lineOf,
  type ResponseDatabase,
  givenStart as start,
  useResponseDatabase,
} from '../../../support/response-database.ts';
import { sharedStores } from '../../../support/stores.ts';

let database: ResponseDatabase;
let clickhouse: ClickHouse;
let responses: ResponseStore;
let store: ResponseDatabase['store'];
let walk: ResponseDatabase['walk'];

useResponseDatabase((opened) => {
  database = opened;
  ({ clickhouse, responses, store, walk } = database);
});

const ids = (records: readonly ResponseRecord[]): string[] => records.map((record) => record.responseId);
const bitsDimension = (...slots: number[]): Dimension => ({ categories: [], source: { kind: 'bits', slots } });

test('a stored response is found with all its fields', async () => {
  const surveyId = newId();
  const given = {
    surveyId,
    responseId: newId(),
    submittedAtMs: start + 123,
    version: 3,
    surveyVersion: 7,
    outcome: 'COMPLETED' as const,
    completedAtMs: start + 456,
    durationMs: 61_500,
    language: 'zh-Hant',
    respondent: `O'Brien "Zoë" \\ 四`,
    metadata: { 'utm "source"': `it's\n\t漢字`, empty: '' },
    codes: [0, 65_535, 3],
    numbers: [-12.5, 1e-9, 0],
    texts: ['', `'; DROP TABLE responses; --`, 'שלום\u0000👋'],
  };
  assert.deepEqual(await store([lineOf(given)]), { kind: 'stored' });
  const [record] = await responses.findAll(given.responseId);
  assert.ok(record);
  const { row, ...head } = record;
  assert.deepEqual(head, {
    surveyId,
    responseId: given.responseId,
    submittedAt: new Date(start + 123),
    version: 3,
    surveyVersion: 7,
    outcome: 'COMPLETED' as const,
    completedAt: new Date(start + 456),
    durationMs: 61_500,
    language: 'zh-Hant',
    respondent: given.respondent,
    metadata: given.metadata,
  });
  assert.deepEqual(row.codes.slice(0, 3), given.codes);
  assert.ok(
    row.codes.length >= 64 && row.codes.slice(3).every((code) => code === 0),
    'positions that were not sent are 0',
  );
  assert.deepEqual([row.numbers, row.texts], [given.numbers, given.texts]);
  const listed = await responses.list({ surveyId, limit: 5 });
  assert.deepEqual(listed, { records: [record], total: 1, nextCursor: null });
  assert.deepEqual(await walk(surveyId), [record]);
});

/** Reads as the database does, but between counting a list and looking for its page a response is stored. */
function whileArrives(line: string): ClickHouse {
  let counted = (): void => undefined;
  const count = new Promise<void>((resolve) => {
    counted = resolve;
  });
  const select: ClickHouse['select'] = async (statement, options) => {
    if (statement.includes('ORDER BY submitted_at DESC, response_id DESC')) {
      await count;
      await store([line]);
    }
    const rows = await clickhouse.select<never>(statement, options);
    if (statement.includes(' UNION ALL ')) counted();
    return rows;
  };
  return { ...clickhouse, select };
}

test('a list never counts fewer responses than it shows, whatever arrives while it is read', async () => {
  const surveyId = newId();
  const given = (n: number) => lineOf({ surveyId, submittedAtMs: start + n });
  await store([given(1), given(2)]);
  const read = async (n: number, page: { page?: number; limit: number }) => {
    const { total, records } = await createResponseStore({ clickhouse: whileArrives(given(n)) }).list({
      surveyId,
      ...page,
    });
    return [total, records.length];
  };
  assert.deepEqual(await read(3, { limit: 5 }), [3, 3]);
  assert.deepEqual(await read(4, { limit: 4 }), [4, 4]);
  assert.deepEqual(await read(5, { page: 2, limit: 2 }), [5, 2]);
});

test('a partial response has neither a completion time nor, unless known, a duration', async () => {
  const given = { surveyId: newId(), responseId: newId(), outcome: 'PARTIAL' as const, completedAtMs: 0 };
  await store([lineOf(given)]);
  const [record] = await responses.findAll(given.responseId);
  assert.deepEqual([record?.outcome, record?.completedAt, record?.durationMs], ['PARTIAL', null, null]);
});

test('an unknown or malformed id is not found', async () => {
  assert.deepEqual(await responses.findAll(newId()), []);
  assert.deepEqual(await responses.findAll(`' OR 1 = 1 --`), []);
});

test('a malformed survey id is refused and reaches no statement', async () => {
  await assert.rejects(
    responses.list({ surveyId: `x') OR (1 = 1`, limit: 5 }),
    (error: unknown) => error instanceof Problem && error.code === 'NOT_FOUND',
  );
});

test('pages are newest first, without gap or overlap', async () => {
  const surveyId = newId();
  const given = Array.from({ length: 25 }, (_, index) => ({
    surveyId,
    responseId: newId(),
    submittedAtMs: start + Math.floor(index / 3),
  }));
  await store(given.map(lineOf));
  const pages = await Promise.all([1, 2, 3, 4].map((page) => responses.list({ surveyId, page, limit: 10 })));
  assert.deepEqual(
    pages.map(({ records, total }) => [records.length, total]),
    [
      [10, 25],
      [10, 25],
      [5, 25],
      [0, 25],
    ],
  );
  const all = pages.flatMap((page) => page.records);
  assert.deepEqual(new Set(ids(all)), new Set(given.map((item) => item.responseId)));
  const times = all.map((record) => record.submittedAt.getTime());
  assert.deepEqual(
    times,
    times.toSorted((one, two) => two - one),
  );
  assert.deepEqual(ids(await walk(surveyId)), ids(all).reverse());
});

test('following a cursor shows every response once while others arrive, change and are deleted', async () => {
  const surveyId = newId();
  const given = Array.from({ length: 40 }, (_, index) => ({
    surveyId,
    responseId: newId(),
    submittedAtMs: start + index * 1000,
  }));
  await store(given.map(lineOf));
  const seen: string[] = [];
  for (let cursor: string | undefined, round = 0; ; round += 1) {
    const { records, nextCursor } = await responses.list({ surveyId, limit: 7, cursor });
    seen.push(...ids(records));
    if (nextCursor === null) break;
    cursor = nextCursor;
    await store([
      lineOf({ surveyId, submittedAtMs: start + 1_000_000 + round }),
      lineOf({ ...given[round * 2], surveyId, version: 2 }),
    ]);
    if (round === 0) await store([encodeTombstone(surveyId, given[5]?.responseId ?? '', start + 5000)]);
  }
  assert.deepEqual(
    seen,
    given
      .toReversed()
      .map((item) => item.responseId)
      .filter((id) => id !== given[5]?.responseId),
  );
});

test('a malformed cursor is a validation error', async () => {
  for (const cursor of [
    'nonsense',
    '',
    Buffer.from(`1.${newId()}.3`).toString('base64url'),
    Buffer.from(`1') OR 1=1.${newId()}`).toString('base64url'),
  ])
    await assert.rejects(
      responses.list({ surveyId: newId(), limit: 5, cursor }),
      (error: unknown) => error instanceof Problem && error.code === 'VALIDATION_ERROR',
    );
});

test('numbers keep their last digit on servers that read decimals less exactly', async () => {
  const url = new URL((await sharedStores()).clickhouseUrl);
  url.pathname = `/${clickhouse.database}`;
  url.searchParams.set('clickhouse_setting_compatibility', '25.8');
  const older = createClickHouse({ urls: [url.href], log: createLog('error') });
  const [surveyId, numbers] = [newId(), [1.14, 1.7091, 0.3]];
  const lines = Buffer.from(lineOf({ surveyId, numbers, metadata: { weight: '1.14' } }));
  await createResponseStore({ clickhouse: older }).insertBatch({ lines, rows: 1, codeColumns: 64 });
  const [record] = await walk(surveyId);
  assert.deepEqual(record?.row.numbers, numbers);
  assert.deepEqual(
    await older.select(`SELECT toFloat64OrNull(metadata['weight']) FROM ${older.table('responses')} FINAL
      WHERE survey_id = toUUID('${surveyId}')`),
    [[1.14]],
  );
  await older.close();
});

test('the text at a key of the metadata selects', async () => {
  const surveyId = newId();
  const key = "it's a \\ key";
  await store([
    lineOf({ surveyId, metadata: { [key]: "Ada's", 'invitation:team': 'red' } }),
    lineOf({ surveyId, metadata: { [key]: '' } }),
    lineOf({ surveyId, metadata: {} }),
  ]);
  const total = async (...pairs: [string, string][]) => {
    const conditions = pairs.map(([name, value]) => ({
      dimension: { categories: [], source: { kind: 'metadata' as const, key: name, value } },
      code: 1,
    }));
    const { records, total } = await responses.list({ surveyId, limit: 10, conditions });
    assert.equal(records.length, total);
    return total;
  };
  assert.equal(await total([key, "Ada's"]), 1);
  assert.equal(await total([key, "ada's"]), 0);
  assert.equal(await total([key, '']), 1, 'not those without the key');
  assert.equal(await total(['invitation:team', 'red'], [key, "Ada's"]), 1);
  assert.equal(await total(['invitation:team', 'red'], [key, '']), 0);
});

test('dates, completeness and conditions select together', async () => {
  const surveyId = newId();
  const day = 86_400_000;
  await store([
    lineOf({ surveyId, submittedAtMs: start, codes: [1, 0b101] }),
    lineOf({ surveyId, submittedAtMs: start + day, codes: [2, 0b001, 0b1] }),
    lineOf({ surveyId, submittedAtMs: start + 2 * day, outcome: 'PARTIAL', completedAtMs: 0, codes: [1, 0, 0b1] }),
  ]);
  const total = async (filters: Partial<Parameters<ResponseStore['list']>[0]>) => {
    const { records, total } = await responses.list({ surveyId, limit: 10, ...filters });
    assert.equal(records.length, total);
    return total;
  };
  assert.equal(await total({ startDate: new Date(start + day) }), 2);
  assert.equal(await total({ startDate: new Date(start + 1) }), 2);
  assert.equal(await total({ endDate: new Date(start + day) }), 1);
  assert.equal(await total({ startDate: new Date(start), endDate: new Date(start + day + 1) }), 2);
  assert.equal(await total({ isComplete: true }), 2);
  assert.equal(await total({ isComplete: false }), 1);
  assert.equal(await total({ outcomes: ['PARTIAL'] }), 1);
  assert.equal(await total({ outcomes: ['PARTIAL', 'COMPLETED'] }), 3);
  assert.equal(await total({ outcomes: ['SCREENED_OUT'] }), 0);
  assert.equal(await total({ conditions: [{ dimension: codeDimension(0), code: 1 }] }), 2);
  assert.equal(
    await total({
      conditions: [
        { dimension: codeDimension(0), code: 1 },
        { dimension: bitsDimension(1, 2), code: 3 },
      ],
    }),
    1,
  );
  assert.equal(
    await total({ conditions: [{ dimension: bitsDimension(1, 2), code: 17 }] }),
    2,
    'the seventeenth option lies in the second word',
  );
  assert.equal(await total({ conditions: [{ dimension: bitsDimension(1, 2), code: 17 }], isComplete: true }), 1);
  assert.equal(await total({ conditions: [{ dimension: bitsDimension(1, 2), code: 40 }] }), 0);
  assert.equal(
    await total({ conditions: [{ dimension: codeDimension(5000), code: 1 }] }),
    0,
    'a position without a column is empty',
  );
  const first: Dimension = {
    categories: [],
    source: {
      kind: 'first',
      items: [
        { slot: 0, code: 8 },
        { slot: 2, code: 9 },
      ],
    },
  };
  assert.equal(await total({ conditions: [{ dimension: first, code: 8 }] }), 2);
  assert.equal(await total({ conditions: [{ dimension: first, code: 9 }] }), 2);
  assert.equal((await walk(surveyId, { conditions: [{ dimension: codeDimension(0), code: 2 }] })).length, 1);
});

test('rare matches far back are found, by page, by cursor and by stream', async () => {
  const surveyId = newId();
  const lines = Array.from({ length: 20_000 }, (_, index) =>
    lineOf({ surveyId, submittedAtMs: start + index, codes: [index % 5000 === 0 ? 7 : 1] }),
  );
  await store(lines);
  const conditions = [{ dimension: codeDimension(0), code: 7 }];
  const { records, total, nextCursor } = await responses.list({ surveyId, limit: 3, conditions, codeColumns: 2 });
  assert.deepEqual([total, records.map((record) => record.submittedAt.getTime() - start)], [4, [15_000, 10_000, 5000]]);
  assert.deepEqual(records[0]?.row.codes, [7, 0], 'only the positions asked for are read');
  const rest = await responses.list({ surveyId, limit: 3, conditions, cursor: nextCursor ?? '' });
  assert.deepEqual(
    rest.records.map((record) => record.submittedAt.getTime() - start),
    [0],
  );
  assert.equal((await walk(surveyId, { conditions })).length, 4);
  assert.equal((await walk(surveyId)).length, 20_000);
  const deep = await responses.list({ surveyId, page: 200, limit: 100 });
  assert.deepEqual([deep.records.length, deep.records.at(-1)?.submittedAt.getTime()], [100, start]);
});

test('many responses of one millisecond are streamed and paged completely', async () => {
  const surveyId = newId();
  await store(Array.from({ length: 12_000 }, () => lineOf({ surveyId })));
  assert.equal(new Set(ids(await walk(surveyId))).size, 12_000);
  const seen = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const { records, nextCursor } = await responses.list({ surveyId, limit: 1000, cursor });
    for (const id of ids(records)) seen.add(id);
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  assert.equal(seen.size, 12_000);
});

test('counts of several surveys include those without responses', async () => {
  const [one, two, none] = [newId(), newId(), newId()];
  await store([lineOf({ surveyId: one }), lineOf({ surveyId: one, outcome: 'PARTIAL' }), lineOf({ surveyId: two })]);
  assert.deepEqual(
    await responses.countBySurvey([one, two, none]),
    new Map([
      [one, { total: 2, complete: 1 }],
      [two, { total: 1, complete: 1 }],
      [none, { total: 0, complete: 0 }],
    ]),
  );
});

test('the ids of all surveys with rows are read in pages, each once', async () => {
  const table = clickhouse.table('responses');
  await clickhouse.command(
    `INSERT INTO ${table} (survey_id, response_id, submitted_at, version)
     SELECT reinterpretAsUUID(sipHash128(intDiv(number, 2))), generateUUIDv4(), addMonths(now(), number % 2), 1 FROM numbers(24_000)`,
  );
  const pages: string[][] = [];
  for await (const page of responses.surveyIds()) pages.push(page);
  const stored = await clickhouse.select<[string]>(`SELECT survey_id FROM ${table} GROUP BY survey_id`);
  assert.deepEqual(pages.flat().sort(), stored.map(([id]) => id).sort());
  assert.ok(pages.length > 1);
});
