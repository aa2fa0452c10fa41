import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Dimension } from '../../../../src/domain/questions/contract.ts';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { Problem } from '../../../../src/errors.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import {
  createResponseStore,
  type ResponseRecord,
  type ResponseStore,
} from '../../../../src/stores/clickhouse/responses.ts';
import { migrateClickHouse } from '../../../../src/stores/clickhouse/schema/migrate.ts';
import { eraseAllDeleted } from '../../../support/erase-all-deleted.ts';
import {
  responseLine as lineOf,
  openResponseDatabase,
  type ResponseDatabase,
  givenStart as start,
} from '../../../support/response-database.ts';

let database: ResponseDatabase;
let clickhouse: ClickHouse;
let responses: ResponseStore;
let store: ResponseDatabase['store'];

before(async () => {
  database = await openResponseDatabase();
  ({ clickhouse, responses, store } = database);
});

after(() => database.close());

async function walk(
  surveyId: string,
  filters: Omit<Parameters<ResponseStore['stream']>[0], 'surveyId'> = {},
): Promise<ResponseRecord[]> {
  const found: ResponseRecord[] = [];
  for await (const record of responses.stream({ surveyId, ...filters })) found.push(record);
  return found;
}

/** A database that no other test fills. */
async function withOwnDatabase(work: (database: ResponseDatabase) => Promise<void>): Promise<void> {
  const own = await openResponseDatabase();
  try {
    await work(own);
  } finally {
    await own.drop();
  }
}

/** The first block of each part, and the inode of the file that holds its texts. */
async function partsOf(of: ClickHouse): Promise<[string, number][]> {
  const parts = await of.select<[string, string, string]>(
    `SELECT name, path, part_type FROM system.parts WHERE active AND rows > 0 AND database = '${of.database}' AND table = 'responses' ORDER BY name`,
  );
  return parts.map(([name, path, type]) => [
    name.split('_')[1] ?? '',
    statSync(join(path, type === 'Wide' ? 'texts.bin' : 'data.bin')).ino,
  ]);
}

const eraseDeleted = () => eraseAllDeleted(responses);
const ids = (records: readonly ResponseRecord[]): string[] => records.map((record) => record.responseId);
const codeDimension = (slot: number): Dimension => ({ categories: [], source: { kind: 'code', slot } });
const bitsDimension = (...slots: number[]): Dimension => ({ categories: [], source: { kind: 'bits', slots } });

test('the schema can be migrated repeatedly and by two processes at once', async () => {
  await Promise.all([migrateClickHouse(clickhouse), migrateClickHouse(clickhouse)]);
  assert.deepEqual(
    await clickhouse.select<[string]>(
      `SELECT DISTINCT name FROM ${clickhouse.table('schema_migrations')} ORDER BY name`,
    ),
    [
      ['001_responses.sql'],
      ['002_findings.sql'],
      ['003_merges.sql'],
      ['004_no_deduplication.sql'],
      ['005_idempotency_records.sql'],
      ['006_lightweight_deletes.sql'],
      ['007_record_replies.sql'],
    ],
  );
});

test('rows of small batches are not merged every few inserts', async () => {
  const surveyId = newId();
  const alone = Date.UTC(2031, 4, 1);
  for (let at = 0; at < 90; at += 1)
    assert.deepEqual(await store([lineOf({ surveyId, submittedAtMs: alone + at })]), { kind: 'stored' });
  const deepest = async (): Promise<number> => {
    const [row] = await clickhouse.select<[number]>(
      `SELECT max(level) FROM system.parts WHERE active AND database = '${clickhouse.database}' AND table = 'responses' AND partition = '203105'`,
    );
    return row?.[0] ?? 0;
  };
  const timesWritten = await deepest();
  assert.ok(timesWritten <= 8, `some rows were merged ${timesWritten} times`);
});

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

test('a repeated batch is stored again: ClickHouse does not deduplicate inserts', async () => {
  const surveyId = newId();
  const lines = Array.from({ length: 50 }, (_, index) => lineOf({ surveyId, submittedAtMs: start + index }));
  const rows = async () =>
    (
      await clickhouse.select<[number]>(
        `SELECT count() FROM ${clickhouse.table('responses')} WHERE survey_id = '${surveyId}'`,
      )
    )[0]?.[0] ?? 0;
  assert.deepEqual(await store(lines), { kind: 'stored' });
  // As if the part had never got its name.
  await clickhouse.command(
    `ALTER TABLE ${clickhouse.table('responses')} DELETE WHERE survey_id = '${surveyId}' SETTINGS mutations_sync = 2`,
  );
  assert.equal(await rows(), 0);
  assert.deepEqual(await store(lines), { kind: 'stored' });
  assert.equal(await rows(), 50);
});

test('a batch that was stored twice still counts once everywhere', async () => {
  const surveyId = newId();
  const lines = Array.from({ length: 50 }, (_, index) => lineOf({ surveyId, submittedAtMs: start + index }));
  await store(lines);
  await store(lines);
  assert.equal((await responses.list({ surveyId, limit: 100 })).total, 50);
  assert.equal((await responses.list({ surveyId, limit: 100 })).records.length, 50);
  assert.equal((await walk(surveyId)).length, 50);
  assert.deepEqual(await responses.countBySurvey([surveyId]), new Map([[surveyId, { total: 50, complete: 50 }]]));
});

test('the lines of a batch may be given in several buffers', async () => {
  const surveyId = newId();
  const pieces = [`${lineOf({ surveyId })}\n${lineOf({ surveyId })}\n`, lineOf({ surveyId }), lineOf({ surveyId })].map(
    (piece) => Buffer.from(piece),
  );
  assert.deepEqual(await responses.insertBatch({ lines: pieces, rows: 4, codeColumns: 0 }), { kind: 'stored' });
  assert.equal((await responses.countBySurvey([surveyId])).get(surveyId)?.total, 4);
});

test('the highest version of a response counts, even if another arrives last', async () => {
  const surveyId = newId();
  const responseId = newId();
  const version = (number: number, isComplete: boolean) =>
    lineOf({ surveyId, responseId, version: number, outcome: isComplete ? 'COMPLETED' : 'PARTIAL', codes: [number] });
  await store([version(1, false)]);
  await store([version(3, true)]);
  await store([version(2, false)]);
  assert.deepEqual(
    (await responses.findAll(responseId)).map(({ version, row }) => [version, row.codes[0]]),
    [[3, 3]],
  );
  const { records, total } = await responses.list({ surveyId, limit: 10 });
  assert.deepEqual([total, records.map((record) => record.version)], [1, [3]]);
  assert.equal(
    (await responses.list({ surveyId, limit: 10, isComplete: false })).total,
    0,
    'an older version cannot satisfy a filter',
  );
  assert.equal(
    (await responses.list({ surveyId, limit: 10, conditions: [{ dimension: codeDimension(0), code: 1 }] })).total,
    0,
  );
  assert.equal(
    (await responses.list({ surveyId, limit: 10, conditions: [{ dimension: codeDimension(0), code: 3 }] })).records
      .length,
    1,
  );
});

test('a deleted response disappears everywhere, also after its row is redelivered', async () => {
  const surveyId = newId();
  const kept = lineOf({ surveyId, submittedAtMs: start + 1, codes: [1] });
  const gone = { surveyId, responseId: newId(), submittedAtMs: start + 2, codes: [0, 9] };
  await store([kept, lineOf(gone)]);
  assert.equal(await responses.hasAnswersAt(surveyId, [1]), true);
  await store([encodeTombstone(surveyId, gone.responseId, gone.submittedAtMs)]);
  const isGone = async () => {
    assert.deepEqual(
      [await responses.findAll(gone.responseId), await responses.wasDeleted(gone.responseId)],
      [[], true],
    );
    const { records, total } = await responses.list({ surveyId, limit: 10 });
    assert.deepEqual([total, records.length, (await walk(surveyId)).length], [1, 1, 1]);
    assert.deepEqual(await responses.countBySurvey([surveyId]), new Map([[surveyId, { total: 1, complete: 1 }]]));
    assert.equal(await responses.hasAnswersAt(surveyId, [1]), false);
  };
  await isGone();
  await store([lineOf(gone)]);
  await isGone();
  await eraseDeleted();
  await isGone();
  await store([lineOf({ ...gone, version: 2 })]);
  await isGone();
});

test('erasing leaves only the tombstone of a deleted response on disk', async () => {
  const surveyId = newId();
  const gone = { surveyId, responseId: newId(), texts: ['a secret'] };
  await store([lineOf(gone), lineOf({ surveyId })]);
  await store([encodeTombstone(surveyId, gone.responseId, start)]);
  assert.equal(await eraseDeleted(), 1);
  const rows = await clickhouse.select<[number, string[]]>(
    `SELECT is_deleted, texts FROM ${clickhouse.table('responses')} WHERE response_id = '${gone.responseId}'`,
  );
  assert.deepEqual(rows, [[1, []]]);
  assert.equal(await eraseDeleted(), 0, 'nothing is left to do');
});

test('erasing a survey removes its rows and no others', async () => {
  const [one, other] = [newId(), newId()];
  await store([lineOf({ surveyId: one }), lineOf({ surveyId: other })]);
  await responses.eraseSurvey(one);
  const [row] = await clickhouse.select<[number]>(
    `SELECT count() FROM ${clickhouse.table('responses')} WHERE survey_id = '${one}'`,
  );
  assert.equal(row?.[0], 0);
  assert.equal((await responses.countBySurvey([one, other])).get(other)?.total, 1);
});

test('erasing works beside empty parts of a deleted survey, which prevent merges for minutes', async () => {
  const [between, surveyId] = [newId(), newId()];
  const gone = { surveyId, responseId: newId(), texts: ['a secret'] };
  const merges = (verb: string) => clickhouse.command(`SYSTEM ${verb} MERGES ${clickhouse.table('responses')}`);
  await eraseDeleted();
  await merges('STOP');
  try {
    await store([lineOf(gone), lineOf({ surveyId, texts: ['kept'] })]);
    await store([lineOf({ surveyId: between })]);
    await store([encodeTombstone(surveyId, gone.responseId, start)]);
  } finally {
    await merges('START');
  }
  await responses.eraseSurvey(between);
  // A slow machine has dropped the empty part, and merged the others, by then.
  assert.ok((await eraseDeleted()) <= 1);
  const rows = await clickhouse.select<[number, string[]]>(
    `SELECT is_deleted, texts FROM ${clickhouse.table('responses')} WHERE survey_id = '${surveyId}' ORDER BY is_deleted`,
  );
  assert.deepEqual(rows, [
    [0, ['kept']],
    [1, []],
  ]);
});

test('erasing rewrites the parts that hold erased rows and no others, and never merges a month', async () => {
  await withOwnDatabase(async ({ clickhouse, responses, store }) => {
    await clickhouse.command(`SYSTEM STOP MERGES ${clickhouse.table('responses')}`);
    const [surveyId, gone] = [newId(), newId()];
    for (let n = 0; n < 4; n += 1) await store([lineOf({ surveyId }), lineOf({ surveyId })]);
    await store([lineOf({ surveyId, responseId: gone, texts: ['a secret'] }), lineOf({ surveyId })]);
    await store([encodeTombstone(surveyId, gone, start)]);
    const before = await partsOf(clickhouse);
    await clickhouse.command(`SYSTEM START MERGES ${clickhouse.table('responses')}`);
    await eraseAllDeleted(responses);
    const written = await clickhouse.select<[number]>(
      `SELECT sum(rows) FROM system.parts WHERE active AND database = '${clickhouse.database}' AND table = 'responses'`,
    );
    assert.equal(written[0]?.[0], 10);
    const after = await partsOf(clickhouse);
    assert.equal(after.length, before.length, 'no parts were merged');
    const rewritten = after.filter(([block, inode]) => !before.some((part) => part[0] === block && part[1] === inode));
    assert.equal(rewritten.length, 1, JSON.stringify({ before, after }));
  });
});

test('deleting a small survey hides its rows at once and rewrites no column of a large part', async () => {
  await withOwnDatabase(async ({ clickhouse, responses, store }) => {
    await clickhouse.command(
      `ALTER TABLE ${clickhouse.table('responses')} MODIFY SETTING min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0`,
    );
    const [small, large] = [newId(), newId()];
    await store([
      lineOf({ surveyId: small, texts: ['a secret'] }),
      ...Array.from({ length: 500 }, (_, n) => lineOf({ surveyId: large, submittedAtMs: start + n, texts: ['kept'] })),
    ]);
    const [columnsBefore] = await partsOf(clickhouse);
    await responses.eraseSurvey(small);
    const [columnsAfter] = await partsOf(clickhouse);
    assert.equal(columnsAfter?.[1], columnsBefore?.[1], 'the file of texts is the same');
    assert.deepEqual(
      [
        (await responses.list({ surveyId: small, limit: 10 })).total,
        (await responses.list({ surveyId: large, limit: 10 })).total,
      ],
      [0, 500],
    );
    const limits = { tombstonesBefore: new Date(0), keepTombstonesOf: [] };
    assert.deepEqual(await responses.eraseDeleted({ ...limits, maxPartBytes: 1 }), { partitions: 0, postponed: 1 });
    assert.equal((await partsOf(clickhouse))[0]?.[1], columnsBefore?.[1]);
    assert.deepEqual(await responses.eraseDeleted({ ...limits, maxPartBytes: 1e9 }), { partitions: 1, postponed: 0 });
    assert.notEqual((await partsOf(clickhouse))[0]?.[1], columnsBefore?.[1]);
    assert.deepEqual(await responses.eraseDeleted({ ...limits, maxPartBytes: 1e9 }), { partitions: 0, postponed: 0 });
    assert.equal((await responses.list({ surveyId: large, limit: 10 })).total, 500);
  });
});

test('tombstones go when they are old and hide nothing, unless rows of theirs may come back', async () => {
  await withOwnDatabase(async ({ clickhouse, responses, store }) => {
    const [surveyId, old, recent, kept, former] = [newId(), newId(), newId(), newId(), newId()];
    const now = Date.now();
    await store([old, recent, kept, former].map((responseId) => lineOf({ surveyId, responseId })));
    await store([
      encodeTombstone(surveyId, old, start, now - 40 * 86_400_000),
      encodeTombstone(surveyId, recent, start, now - 1000),
      encodeTombstone(surveyId, kept, start, now - 40 * 86_400_000),
      encodeTombstone(surveyId, former, start),
    ]);
    const erase = () =>
      responses.eraseDeleted({
        maxPartBytes: 1e9,
        tombstonesBefore: new Date(now - 31 * 86_400_000),
        keepTombstonesOf: [kept],
      });
    await erase();
    await erase();
    const left = await clickhouse.select<[string, number]>(
      `SELECT response_id, is_deleted FROM ${clickhouse.table('responses')}`,
    );
    assert.deepEqual(new Map(left), new Map([recent, kept, former].map((responseId) => [responseId, 1])));
    assert.deepEqual(await Promise.all([old, recent, kept].map((id) => responses.wasDeleted(id))), [false, true, true]);
  });
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

test('columns are added before rows with more code positions are stored', async () => {
  const surveyId = newId();
  const codes = Array.from({ length: 130 }, (_, index) => index + 1);
  const elsewhere = createResponseStore({ clickhouse });
  await store([lineOf({ surveyId, codes })], { codeColumns: 130 });
  const [record] = (await responses.list({ surveyId, limit: 1 })).records;
  assert.deepEqual(record?.row.codes.slice(0, 130), codes);
  assert.equal(record?.row.codes.length, 192, 'columns come in steps');
  assert.equal(
    (await elsewhere.list({ surveyId, limit: 1, conditions: [{ dimension: codeDimension(129), code: 130 }] })).total,
    1,
    'another process learns of new columns',
  );
  assert.equal(await elsewhere.hasAnswersAt(surveyId, [129]), true);
  assert.equal(await elsewhere.hasAnswersAt(surveyId, [131, 900]), false);
  assert.deepEqual((await elsewhere.findAll(record?.responseId ?? ''))[0]?.row.codes, record?.row.codes);
});

test('an id that is used again after its eviction names several responses, each shown, counted and erased by itself', async () => {
  const [surveyId, responseId] = [newId(), newId()];
  const moments = [start, start + 3, start + 9];
  await store(
    moments.map((submittedAtMs, index) =>
      lineOf({ surveyId, responseId, submittedAtMs, respondent: `guest ${index}`, codes: [index + 1] }),
    ),
  );
  const shown = async () => [
    (await responses.findAll(responseId)).map(({ row }) => row.codes[0]),
    (await responses.list({ surveyId, limit: 10 })).records.map(({ row }) => row.codes[0]),
  ];
  assert.deepEqual(await shown(), [
    [3, 2, 1],
    [3, 2, 1],
  ]);
  await store([encodeTombstone(surveyId, responseId, start + 9)]);
  assert.deepEqual(await shown(), [
    [2, 1],
    [2, 1],
  ]);
  assert.deepEqual(
    (await responses.findMarkedForDeletion(surveyId, { before: new Date(start + 3) }, 10)).map(
      ({ submittedAtMs }) => submittedAtMs,
    ),
    [start],
  );
  // The table may have merged it away by itself.
  assert.ok((await eraseDeleted()) <= 1);
  assert.equal(await eraseDeleted(), 0, 'those that are left are none to be merged away');
  assert.deepEqual(await shown(), [
    [2, 1],
    [2, 1],
  ]);
});

test('two processes may add columns at the same time', async () => {
  const surveyId = newId();
  const [one, two] = [createResponseStore({ clickhouse }), createResponseStore({ clickhouse })];
  const codes = Array.from({ length: 300 }, (_, index) => index + 1);
  const insert = (into: ResponseStore, count: number) =>
    into.insertBatch({
      lines: Buffer.from(lineOf({ surveyId, codes: codes.slice(0, count) })),
      rows: 1,
      codeColumns: count,
    });
  assert.deepEqual(await Promise.all([insert(one, 200), insert(two, 300)]), [{ kind: 'stored' }, { kind: 'stored' }]);
  for await (const record of one.stream({ surveyId })) {
    const sent = record.row.codes.filter((code) => code !== 0);
    assert.deepEqual(sent, codes.slice(0, sent.length));
    assert.ok([200, 300].includes(sent.length));
  }
});

test('a batch with malformed lines is refused and nothing of it is stored', async () => {
  const surveyId = newId();
  const good = lineOf({ surveyId });
  const poison = [
    good.replace(surveyId, 'not-a-uuid'),
    '["unfinished',
    good.replace(',-1,', ',{},'),
    'null',
    `${good.slice(0, -1)}`,
    good.replace(String(start), '"soon"'),
  ];
  for (const line of poison) {
    const outcome = await store([good, line, lineOf({ surveyId })]);
    assert.equal(outcome.kind, 'refused', `${line} gave ${JSON.stringify(outcome)}`);
  }
  assert.equal((await responses.countBySurvey([surveyId])).get(surveyId)?.total, 0);
  assert.deepEqual(await store([good]), { kind: 'stored' });
});

test('the reason of a refusal does not quote the row', async () => {
  const outcome = await store([
    lineOf({ surveyId: newId(), texts: ['very private'] }).replace(String(start), '"private too"'),
  ]);
  assert.ok(
    outcome.kind === 'refused' && outcome.reason.length > 10 && !outcome.reason.includes('private'),
    JSON.stringify(outcome),
  );
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

test('a batch that spans months is stored as one', async () => {
  const surveyId = newId();
  // More than the hundred partitions that ClickHouse lets one insert have of itself.
  const months = 105;
  const lines = Array.from({ length: months }, (_, index) =>
    lineOf({ surveyId, submittedAtMs: Date.UTC(2015, index, 15) }),
  );
  // Each month is a part with syncs of its own, for which a slow disk may need longer than a first attempt has.
  const batch = { lines: Buffer.from(lines.join('\n')), rows: months, codeColumns: 64, attempt: 3 };
  assert.deepEqual(await responses.insertBatch(batch), { kind: 'stored' });
  const [row] = await clickhouse.select<[number]>(
    `SELECT count() FROM ${clickhouse.table('responses')} WHERE survey_id = '${surveyId}'`,
  );
  assert.equal(row?.[0], months);
});
