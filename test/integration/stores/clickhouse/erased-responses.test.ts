import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import type { ResponseStore } from '../../../../src/stores/clickhouse/responses.ts';
import { createErasure, type DeletionPlace } from '../../../../src/stores/clickhouse/write/erasure.ts';
import { eraseAllDeleted } from '../../../support/erase-all-deleted.ts';
import {
  responseLine as lineOf,
  openResponseDatabase,
  type ResponseDatabase,
  givenStart as start,
  useResponseDatabase,
} from '../../../support/response-database.ts';

let database: ResponseDatabase;
let clickhouse: ClickHouse;
let responses: ResponseStore;
let store: ResponseDatabase['store'];
let walk: ResponseDatabase['walk'];

useResponseDatabase((opened) => {
  database = opened;
  ({ clickhouse, responses, store, walk } = database);
});

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

test('erasing ends at a stop with the month at hand', async () => {
  await withOwnDatabase(async ({ clickhouse, store }) => {
    const surveyId = newId();
    const months = [start, start + 40 * 86_400_000].map((submittedAtMs) => ({ responseId: newId(), submittedAtMs }));
    for (const gone of months) {
      await store([lineOf({ surveyId, ...gone })]);
      await store([encodeTombstone(surveyId, gone.responseId, gone.submittedAtMs)]);
    }
    const stopping = new AbortController();
    const command: ClickHouse['command'] = (sql, options) =>
      clickhouse.command(sql, options).finally(() => stopping.abort());
    const erasing = createErasure({ ...clickhouse, command }, {}).eraseDeleted({
      maxPartBytes: 1e9,
      tombstonesBefore: new Date(0),
      keepTombstonesOf: [],
      signal: stopping.signal,
    });
    await assert.rejects(erasing, { code: 'SERVICE_UNAVAILABLE', message: 'The service is stopping' });
    const left = await clickhouse.select<[number]>(
      `SELECT count() FROM ${clickhouse.table('responses')} WHERE is_deleted = 0`,
    );
    assert.deepEqual(left, [[1]]);
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

test('responses that are marked for deletion say when they were saved last, where that is known', async () => {
  const surveyId = newId();
  const later = start + 86_400_000;
  const saves = [
    { submittedAtMs: start, completedAtMs: start },
    { submittedAtMs: start + 1, version: 2, completedAtMs: later },
    { submittedAtMs: start + 2, version: 2, outcome: 'PARTIAL', completedAtMs: 0 },
    { submittedAtMs: start + 3, version: 2, outcome: 'PARTIAL', completedAtMs: 0, savedAtMs: later },
    { submittedAtMs: start + 4, outcome: 'PARTIAL', completedAtMs: 0 },
  ] as const;
  await store(saves.map((save) => lineOf({ surveyId, ...save })));
  assert.deepEqual(
    (await responses.findMarkedForDeletion(surveyId, { before: new Date(later) }, 10)).map(
      ({ lastSavedAtMs }) => lastSavedAtMs,
    ),
    [start, later, undefined, later, start + 4],
  );
});

test('responses that are marked for deletion are found in pages, also those of one moment', async () => {
  const surveyId = newId();
  await store([0, 0, 0, 1, 2].map((ms) => lineOf({ surveyId, submittedAtMs: start + ms })));
  const find = (limit: number, after?: DeletionPlace) =>
    responses.findMarkedForDeletion(surveyId, { before: new Date(start + 9) }, limit, after);
  const all = await find(10);
  const paged = await find(2);
  for (let page = paged; page.length > 0; paged.push(...page)) page = await find(2, paged.at(-1));
  assert.deepEqual([all.length, paged], [5, all]);
});
