import { codeColumn } from '../../domain/response-row.ts';
import type { ClickHouse } from './client.ts';
import { createTimeBudget, runScans } from './counts/scans.ts';
import { collectCount, countScan } from './counts/summary.ts';
import { decodeCursor, encodeCursor, findPageKeys, findRecordsByKeys, walkRecords } from './read/pages.ts';
import { isTombstone, type RecordCells, type ResponseRecord, recordColumns, toRecord } from './read/record.ts';
import { columnNames, conditionsOf, existingColumns, type Selection, selectionSlots } from './read/selection.ts';
import { createStoredRows } from './read/stored-rows.ts';
import { createCodeColumns } from './schema/code-columns.ts';
import type { Placement } from './schema/placement.ts';
import { isUuid, sqlMoment, sqlUuid } from './sql-literals.ts';
import { createDamagedParts } from './write/damaged-parts.ts';
import { createErasure } from './write/erasure.ts';
import { createInsert } from './write/insert.ts';

export type { ResponseRecord } from './read/record.ts';
export type { Batch, InsertOutcome } from './write/insert.ts';

export interface ListQuery extends Selection {
  /** From 1. */
  page?: number | undefined;
  /** `nextCursor` of the page before; then `page` is not looked at. */
  cursor?: string | undefined;
  limit: number;
  /** Code positions that the survey has given out: fewer are read. */
  codeColumns?: number | undefined;
}

export interface ResponsePage {
  records: ResponseRecord[];
  /** Of all pages, exact. */
  total: number;
  /** Null on the last page. */
  nextCursor: string | null;
}

type RetryStep = <T>(step: () => Promise<T>) => Promise<T>;

const runOnce: RetryStep = (step) => step();
const countTimeoutMs = 30_000;
/** A respondent waits for it. */
const newestTimeoutMs = 5000;

/**
 * Responses in ClickHouse. Everything that reads sees each response once, in its newest version, and none that was
 * deleted.
 */
export function createResponseStore({ clickhouse, cluster }: { clickhouse: ClickHouse } & Placement) {
  const columns = createCodeColumns(clickhouse, { cluster });
  const table = clickhouse.table('responses');

  const conditionsFor = async (selection: Selection) =>
    conditionsOf(selection, await columnNames(columns, selectionSlots(selection)), clickhouse.table('findings'));
  const columnsToRead = async (codeColumns: number | undefined): Promise<string> =>
    recordColumns(codeColumns === undefined ? undefined : Math.min(codeColumns, await columns.existing(codeColumns)));

  return {
    insertBatch: createInsert(clickhouse, columns, { cluster }),
    storedRows: createStoredRows(clickhouse),
    damagedParts: createDamagedParts(clickhouse, { cluster }),
    ...createErasure(clickhouse, { cluster }),

    /**
     * The response with this id; where the id came again after it was forgotten all of them, the last that was
     * submitted first.
     */
    async findAll(responseId: string): Promise<ResponseRecord[]> {
      if (!isUuid(responseId)) return [];
      // Without FINAL, as the index on response_id then leaves only this response's few versions to read.
      const rows = await clickhouse.select<RecordCells>(
        `SELECT ${recordColumns()} FROM ${table} WHERE response_id = ${sqlUuid(responseId)} ORDER BY submitted_at DESC, version DESC LIMIT 1 BY survey_id, submitted_at`,
      );
      return rows.filter((cells) => !isTombstone(cells)).map(toRecord);
    },

    /** Whether a response with this id, or the one that was submitted at this moment, has been deleted. */
    async wasDeleted(responseId: string, submittedAtMs?: number): Promise<boolean> {
      const moment = submittedAtMs === undefined ? '' : `AND submitted_at = ${sqlMoment(submittedAtMs)}`;
      return (
        isUuid(responseId) &&
        (
          await clickhouse.select<[number]>(
            `SELECT 1 FROM ${table} WHERE response_id = ${sqlUuid(responseId)} ${moment} AND is_deleted = 1 LIMIT 1`,
          )
        ).length > 0
      );
    },

    /** The newest version of a survey's response, of the one that was submitted at that moment if it is known. */
    async findNewest(
      surveyId: string,
      responseId: string,
      { submittedAtMs, codeColumns }: { submittedAtMs?: number | undefined; codeColumns?: number | undefined },
    ): Promise<ResponseRecord | undefined> {
      const moment = submittedAtMs === undefined ? '' : `AND submitted_at = ${sqlMoment(submittedAtMs)}`;
      const rows = await clickhouse.select<RecordCells>(
        `SELECT ${await columnsToRead(codeColumns)} FROM ${table} WHERE survey_id = ${sqlUuid(surveyId)} ${moment} AND response_id = ${sqlUuid(responseId)}
         ORDER BY submitted_at DESC, version DESC LIMIT 1 BY submitted_at`,
        { timeoutMs: newestTimeoutMs },
      );
      const newest = rows.find((cells) => !isTombstone(cells));
      return newest && toRecord(newest);
    },

    /**
     * A page, newest first by submittedAt. Following `nextCursor` shows every response once, whatever arrives
     * meanwhile.
     */
    async list({ page = 1, cursor, limit, codeColumns, ...selection }: ListQuery): Promise<ResponsePage> {
      const after = cursor === undefined ? undefined : decodeCursor(selection.surveyId, cursor);
      const conditions = await conditionsFor(selection);
      const offset = after === undefined ? (page - 1) * limit : 0;
      const counting = count(selection);
      if (offset > 0 && offset >= (await counting).total)
        return { records: [], total: (await counting).total, nextCursor: null };
      const [counted, keys] = await Promise.all([
        counting,
        findPageKeys(clickhouse, { conditions, after, offset, limit: limit + 1 }),
      ]);
      const shown = keys.slice(0, limit);
      const records = await findRecordsByKeys(clickhouse, {
        surveyCondition: `survey_id = ${sqlUuid(selection.surveyId)}`,
        keys: shown,
        columns: await columnsToRead(codeColumns),
      });
      const last = shown.at(-1);
      const total =
        after === undefined ? consistentTotal(counted.total, { offset, found: keys.length, limit }) : counted.total;
      return {
        records,
        total,
        nextCursor: keys.length > limit && last ? encodeCursor(selection.surveyId, last) : null,
      };
    },

    /**
     * Every response of the selection that is stored now, oldest first, in flat memory. `persist` runs a step of the
     * walk, again if it likes.
     */
    async *stream(
      selection: Selection,
      { codeColumns, withRetries = runOnce }: { codeColumns?: number | undefined; withRetries?: RetryStep } = {},
    ): AsyncGenerator<ResponseRecord> {
      const [conditions, read] = await withRetries(() =>
        Promise.all([conditionsFor(selection), columnsToRead(codeColumns)]),
      );
      yield* walkRecords(
        { ...clickhouse, select: (sql, options) => withRetries(() => clickhouse.select(sql, options)) },
        { conditions, columns: read },
      );
    },

    /** Counts of several surveys; every survey asked for has an entry. */
    async countBySurvey(surveyIds: readonly string[]): Promise<Map<string, { total: number; complete: number }>> {
      const counts = new Map<string, { total: number; complete: number }>();
      for (const surveyId of surveyIds) counts.set(surveyId, await count({ surveyId }));
      return counts;
    },

    /** The versions of a survey that its responses name, those too that are being replaced. */
    async findSurveyVersions(surveyId: string): Promise<number[]> {
      const rows = await clickhouse.select<[number]>(
        `SELECT DISTINCT survey_version FROM ${table} WHERE survey_id = ${sqlUuid(surveyId)} AND is_deleted = 0`,
        { timeoutMs: countTimeoutMs },
      );
      return rows.map(([version]) => version);
    },

    /** Whether any response has something at one of these code positions. */
    async hasAnswersAt(surveyId: string, slots: readonly number[]): Promise<boolean> {
      const existing = await columns.existing(Math.max(0, ...slots.map((slot) => slot + 1)));
      const asked = slots.filter((slot) => slot < existing);
      if (asked.length === 0) return false;
      const rows = await clickhouse.select<[number]>(
        `SELECT 1 FROM ${table} FINAL WHERE survey_id = ${sqlUuid(surveyId)} AND (${asked.map((slot) => `${codeColumn(slot)} != 0`).join(' OR ')}) LIMIT 1`,
        { timeoutMs: countTimeoutMs },
      );
      return rows.length > 0;
    },
  };

  async function count(selection: Selection): Promise<{ total: number; complete: number }> {
    const slots = selectionSlots(selection);
    const columnOf = await columnNames(columns, slots);
    const scope = {
      clickhouse,
      surveyId: selection.surveyId,
      conditions: conditionsOf(selection, columnOf, clickhouse.table('findings')),
      columns: ['is_complete', ...existingColumns(slots, columnOf)],
      timeLeftMs: createTimeBudget(countTimeoutMs),
    };
    return collectCount((await runScans(scope, [countScan])).rows[0] ?? []);
  }
}

/**
 * Counting and looking for the page are two reads, between which responses come and go: what the page shows is the
 * newer of the two.
 */
function consistentTotal(
  counted: number,
  { offset, found, limit }: { offset: number; found: number; limit: number },
): number {
  const seen = found === 0 ? 0 : offset + found;
  return found > limit ? Math.max(counted, seen) : found > 0 || offset === 0 ? seen : counted;
}

export type ResponseStore = ReturnType<typeof createResponseStore>;
