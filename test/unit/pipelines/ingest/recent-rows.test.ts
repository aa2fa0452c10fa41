import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BatchKeys, batchKeysOf, createBatchCheck } from '../../../../src/pipelines/ingest/batch-check.ts';
import { createRecentRows } from '../../../../src/pipelines/ingest/recent-rows.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { RowSpan, StoredRows } from '../../../../src/stores/clickhouse/read/stored-rows.ts';
import { responseLine } from '../../../support/response-database.ts';

const nowMs = Math.floor(Date.now() / 10_000) * 10_000;
const minuteMs = 60_000;
const surveyId = newId();

/** A ClickHouse without rows, and the spans of time that it was asked for. */
function emptyStore() {
  const spans: RowSpan[] = [];
  const storedRows: StoredRows = {
    startedAtMs: async () => 1,
    firstVersions: async () => new Map(),
    firstVersionsByBucket: async (span) => {
      spans.push(span);
      return new Map();
    },
    missing: async () => [],
  };
  return { storedRows, spans };
}

const keysAt = (...submittedAtMs: readonly number[]) =>
  batchKeysOf(Buffer.from(submittedAtMs.map((at) => responseLine({ surveyId, submittedAtMs: at })).join('\n')));
const entry = (id: string) => ({ firstEntry: id, lastEntry: id });
const firstsOf = (spans: readonly { firstEntry: string }[]) => spans.map(({ firstEntry }) => firstEntry);

describe('the sums of recent rows', () => {
  it('hold rows for three minutes after they were stored, however long they had waited', async () => {
    const recent = createRecentRows(emptyStore().storedRows);
    recent.add(keysAt(nowMs - 11 * minuteMs), entry('1-0'), nowMs);
    recent.add(keysAt(nowMs - 5 * minuteMs), entry('2-0'), nowMs);
    recent.add(keysAt(nowMs - 20_000), entry('3-0'), nowMs);
    assert.deepEqual(firstsOf(await recent.suspects(nowMs + 2 * minuteMs)), ['1-0', '2-0', '3-0']);
    assert.deepEqual(await recent.suspects(nowMs + 4 * minuteMs), []);
  });

  it('leave out the last seconds, of which rows may be on their way', async () => {
    const recent = createRecentRows(emptyStore().storedRows);
    recent.add(keysAt(nowMs - 5000), entry('1-0'), nowMs);
    assert.deepEqual(await recent.suspects(nowMs), []);
    assert.deepEqual(firstsOf(await recent.suspects(nowMs + 20_000)), ['1-0']);
  });

  it('are compared without the rows that lie between old and new ones', async () => {
    const { storedRows, spans } = emptyStore();
    const recent = createRecentRows(storedRows);
    const old = nowMs - 40 * 24 * 60 * minuteMs;
    recent.add(keysAt(old, nowMs - 30_000, nowMs - 50_000), entry('1-0'), nowMs);
    await recent.suspects(nowMs);
    const asked = new Set(spans.map(({ fromMs, toMs }) => `${fromMs - nowMs} ${toMs - nowMs}`));
    assert.deepEqual([...asked], [`${old - nowMs} ${old - nowMs + 9999}`, '-50000 -20001']);
  });

  it('are compared in statements of five hundred surveys, each survey in one', async () => {
    const { storedRows, spans } = emptyStore();
    const recent = createRecentRows(storedRows);
    const surveyIds = Array.from({ length: 501 }, newId);
    const lines = [nowMs - 50_000, nowMs - 40_000].flatMap((submittedAtMs) =>
      surveyIds.map((id) => responseLine({ surveyId: id, submittedAtMs })),
    );
    recent.add(batchKeysOf(Buffer.from(lines.join('\n'))), entry('1-0'), nowMs);
    assert.equal((await recent.suspects(nowMs)).length, 1002);
    const asked = spans.map((span) => span.surveyIds);
    assert.deepEqual(asked, [surveyIds.slice(0, 500), surveyIds.slice(0, 500), [surveyIds[500]], [surveyIds[500]]]);
  });

  it('name the entries of rows beyond their number, which are then looked up by their ids', async () => {
    const recent = createRecentRows(emptyStore().storedRows, { maxBuckets: 2 });
    for (let n = 1; n <= 4; n += 1) recent.add(keysAt(nowMs - n * minuteMs), entry(`${n}-0`), nowMs);
    const found = await recent.suspects(nowMs);
    assert.deepEqual(found.map(({ firstEntry, lastEntry }) => `${firstEntry} ${lastEntry}`).sort(), [
      '1-0 1-0',
      '2-0 2-0',
      '3-0 4-0',
    ]);
  });

  it('name entries beyond their number no longer than others, also where each ten seconds have some', async () => {
    const recent = createRecentRows(emptyStore().storedRows, { maxBuckets: 0 });
    const found: string[][] = [];
    for (let minute = 0; minute <= 5; minute += 1) {
      const storedAtMs = nowMs + minute * minuteMs;
      recent.add(keysAt(storedAtMs), entry(`${minute}-1`), storedAtMs);
      recent.add(keysAt(storedAtMs), entry(`${minute}-2`), storedAtMs + 5000);
      found.push((await recent.suspects(storedAtMs + 20_000)).map((span) => `${span.firstEntry} ${span.lastEntry}`));
    }
    assert.deepEqual(found[1], ['0-1 0-2', '1-1 1-2']);
    assert.deepEqual(found[5], ['3-1 3-2', '4-1 4-2', '5-1 5-2']);
  });

  /** Keys of later versions, none of which `emptyStore` has. */
  const laterVersions = (count: number): BatchKeys => ({
    ...keysAt(),
    laterVersionKeys: Array.from({ length: count }, () => ({
      surveyId,
      responseId: newId(),
      submittedAtMs: nowMs - 20_000,
      version: 2,
    })),
  });
  const lackingAll = (): StoredRows => ({ ...emptyStore().storedRows, missing: async (keys) => [...keys] });

  it('name the entries of later versions, also beyond their number', async () => {
    const recent = createRecentRows(lackingAll());
    recent.add(laterVersions(10), entry('1-0'), nowMs);
    recent.add(laterVersions(20_000), entry('2-0'), nowMs);
    recent.add(laterVersions(10), entry('3-0'), nowMs + minuteMs);
    assert.deepEqual([...new Set(firstsOf(await recent.suspects(nowMs + minuteMs)))].sort(), ['1-0', '2-0', '3-0']);
    assert.deepEqual([...new Set(firstsOf(await recent.suspects(nowMs + 3.5 * minuteMs)))], ['3-0']);
  });

  it('name all entries of the batch in which a missing later version was stored', async () => {
    const recent = createRecentRows(lackingAll());
    recent.add(laterVersions(1), { firstEntry: '1-0', lastEntry: '3-0' }, nowMs);
    const [found] = await recent.suspects(nowMs);
    assert.deepEqual([found?.firstEntry, found?.lastEntry], ['1-0', '3-0']);
  });

  it('hold rows until they were compared, also where a check took minutes', async () => {
    for (const options of [{}, { maxBuckets: 0 }]) {
      const recent = createRecentRows(emptyStore().storedRows, options);
      const at = (minutes: number) => nowMs + minutes * minuteMs;
      assert.deepEqual(await recent.suspects(at(0)), []);
      recent.add(keysAt(at(0)), entry('1-0'), at(1));
      recent.add(keysAt(at(4)), entry('2-0'), at(4.5));
      assert.deepEqual(firstsOf(await recent.suspects(at(5))), ['1-0', '2-0']);
      assert.deepEqual(firstsOf(await recent.suspects(at(6))), ['2-0']);
    }
  });

  it('are compared as they were before ClickHouse was asked, while batches of the same time are stored', async () => {
    const moment = nowMs - minuteMs;
    for (const seesNewest of [false, true]) {
      const batches = [keysAt(moment), keysAt(moment), keysAt(moment)];
      const sums = batches.map((keys) => keys.firstVersionSums.get(surveyId)?.get(moment)?.idSum ?? 0);
      let [added, areLost] = [0, false];
      const firstVersionsByBucket = async () => {
        const rows = areLost ? 1 : added;
        if (!areLost) add();
        const seen = seesNewest && !areLost ? added : rows;
        const idSum = sums.slice(0, seen).reduce((sum, one) => sum + one, 0);
        return new Map([[`${surveyId} ${moment / 10_000}`, { rows: seen, idSum }]]);
      };
      const recent = createRecentRows({ ...emptyStore().storedRows, firstVersionsByBucket });
      const add = () => {
        const keys = batches[added];
        if (!keys) return;
        added += 1;
        recent.add(keys, entry(`${added}-0`), nowMs);
      };
      add();
      assert.deepEqual(await recent.suspects(nowMs), []);
      areLost = true;
      const [lost] = await recent.suspects(nowMs);
      assert.deepEqual([lost?.lastEntry, lost?.lacked?.rows], ['2-0', 2]);
    }
  });

  it('count all rows of a batch that spans a minute', async () => {
    const { storedRows } = emptyStore();
    const keys = keysAt(...Array.from({ length: 60 }, (_, second) => nowMs - minuteMs + second * 1000));
    assert.equal(await createBatchCheck(storedRows)(Buffer.alloc(0), keys), undefined);
    assert.equal(keys.firstVersionSums.get(surveyId)?.size, 60);
  });
});
