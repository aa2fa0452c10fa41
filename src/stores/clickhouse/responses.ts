import { codeColumn } from '../../domain/response-row.ts';
import type { ClickHouse } from './client.ts';
import { createTimeBudget, runScans } from './counts/scans.ts';
import { collectCount, countScan } from './counts/summary.ts';
import {
  decodeCursor,
  encodeCursor,
  findPageKeys,
  type RecordPiece,
  readRecordsByKeys,
  walkRecords,
} from './read/pages.ts';
import { isTombstone, type RecordCells, type ResponseRecord, recordColumns, toRecord } from './read/record.ts';
import {
  columnNames,
  conditionsOf,
  existingColumns,
  headColumns,
  type Selection,
  selectionSlots,
} from './read/selection.ts';
import { createStoredRows } from './read/stored-rows.ts';
import { createCodeColumns } from './schema/code-columns.ts';
import type { Placement } from './schema/placement.ts';
import { isUuid, sqlInteger, sqlMoment, sqlString, sqlUuid } from './sql-literals.ts';
import { createDamagedParts } from './write/damaged-parts.ts';
import { createErasure } from './write/erasure.ts';
import { createInsert } from './write/insert.ts';

export type { ResponseRecord } from './read/record.ts';
export type { Batch, InsertOutcome } from './write/insert.ts';

export interface ListQuery extends Selection {
  /** From 1. */
  page?: number | undefined;
  /** `nextCursor` of the previous page; `page` is then ignored. */
  cursor?: string | undefined;
  limit: number;
  /** Number of code positions of the survey; limits the columns read. */
  codeColumns?: number | undefined;
}

export interface ResponsePage {
  /** All responses of the page, or the first of them where they are long. */
  records: ResponseRecord[];
  /** The others, read piece by piece. */
  rest?: AsyncGenerator<RecordPiece>;
  /** Exact number over all pages. */
  total: number;
  /** Null on the last page. */
  nextCursor: string | null;
}

/** The code of a response at one position. */
export interface ResponseCode {
  responseId: string;
  submittedAtMs: number;
  code: number;
}

type RetryStep = <T>(step: () => Promise<T>) => Promise<T>;

const runOnce: RetryStep = (step) => step();
const countTimeoutMs = 30_000;
/** Short, as a respondent waits for it. */
const newestTimeoutMs = 5000;
/** Reads the texts of a whole survey, in the background. */
const namingTimeoutMs = 5 * 60_000;
/** Reads the ids of a whole survey, in the background. */
const reusedTimeoutMs = 2 * 60_000;
/** Reads the survey of every row at worst, in the background. */
const surveyIdsTimeoutMs = 5 * 60_000;
const surveysPerPage = 10_000;
/** Groups of ids beyond this size go to the disk. */
const maxGroupedBytes = 256 * 1024 * 1024;
/** Ten million responses take about a minute. */
const snapshotTimeoutMs = 10 * 60_000;

/** Responses in ClickHouse. All reads see each response once, in its newest version, and no deleted ones. */
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
    /** The same as if this part of the table were not there. */
    storedRowsExcept: (exceptPart: string) => createStoredRows(clickhouse, { exceptPart }),
    damagedParts: createDamagedParts(clickhouse, { cluster }),
    ...createErasure(clickhouse, { cluster }),

    /**
     * The responses with this id, in one survey if it is given, last submitted first. There are several if the client
     * reused the id after its idempotency record expired.
     */
    async findAll(responseId: string, surveyId?: string): Promise<ResponseRecord[]> {
      if (!isUuid(responseId)) return [];
      const inSurvey = surveyId === undefined ? '' : `survey_id = ${sqlUuid(surveyId)} AND `;
      // Without FINAL, so that the index on response_id leaves only the versions of this response to read.
      const rows = await clickhouse.select<RecordCells>(
        `SELECT ${recordColumns()} FROM ${table} WHERE ${inSurvey}response_id = ${sqlUuid(responseId)} ORDER BY submitted_at DESC, version DESC LIMIT 1 BY survey_id, submitted_at`,
      );
      return rows.filter((cells) => !isTombstone(cells)).map(toRecord);
    },

    /** The responses of a survey that name these uploads in any of their saves, deleted or not, by upload. */
    async findNamingUploads(
      surveyId: string,
      uploadIds: readonly string[],
    ): Promise<[uploadId: string, responseIds: string[]][]> {
      return clickhouse.select<[uploadId: string, responseIds: string[]]>(
        `SELECT upload, groupUniqArray(response_id) FROM ${table} ARRAY JOIN arrayMap(text -> substring(text, 1, 36), texts) AS upload WHERE survey_id = ${sqlUuid(surveyId)} AND upload IN (${uploadIds.map(sqlString).join()}) GROUP BY upload`,
        { timeoutMs: namingTimeoutMs, settings: { max_threads: 1 } },
      );
    },

    /** All responses of a survey at one moment, in no order: see `ClickHouse.stream`. */
    async *snapshot(
      surveyId: string,
      codeColumns: number,
      { signal }: { signal?: AbortSignal } = {},
    ): AsyncGenerator<ResponseRecord[]> {
      const shown = await columnsToRead(codeColumns);
      const rows = clickhouse.stream<RecordCells>(
        `SELECT ${shown} FROM ${table} FINAL WHERE survey_id = ${sqlUuid(surveyId)} AND is_deleted = 0`,
        {
          timeoutMs: snapshotTimeoutMs,
          settings: { do_not_merge_across_partitions_select_final: 1, max_threads: 1 },
          signal,
        },
      );
      for await (const cells of rows) yield cells.map(toRecord);
    },

    /** Whether a response with this id (and submission time, if given) was deleted. */
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

    /** The newest version of a response of the survey, with this submission time if known. */
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
     * A page, newest first by submittedAt. Following `nextCursor` shows every response once, even if others arrive
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
      const pieces = readRecordsByKeys(clickhouse, {
        surveyCondition: `survey_id = ${sqlUuid(selection.surveyId)}`,
        keys: shown,
        columns: await columnsToRead(codeColumns),
      });
      const first = await pieces.next();
      const { records, isLast } = first.done ? { records: [], isLast: true } : first.value;
      const last = shown.at(-1);
      const total =
        after === undefined ? consistentTotal(counted.total, { offset, found: keys.length, limit }) : counted.total;
      return {
        records,
        ...(!isLast && { rest: pieces }),
        total,
        nextCursor: keys.length > limit && last ? encodeCursor(selection.surveyId, last) : null,
      };
    },

    /**
     * All stored responses of the selection, oldest first, in constant memory. `withRetries` runs each query and may
     * repeat it. `areIdsUnique`: of several responses of the survey with one id, only the one submitted last.
     */
    async *stream(
      selection: Selection,
      {
        codeColumns,
        withRetries = runOnce,
        areIdsUnique = false,
      }: { codeColumns?: number | undefined; withRetries?: RetryStep; areIdsUnique?: boolean } = {},
    ): AsyncGenerator<ResponseRecord> {
      const [conditions, read, lastUses] = await withRetries(() =>
        Promise.all([
          conditionsFor(selection),
          columnsToRead(codeColumns),
          areIdsUnique ? findLastUses(selection.surveyId) : new Map<string, number>(),
        ]),
      );
      const records = walkRecords(
        {
          ...clickhouse,
          select: (sql, options) => withRetries(() => clickhouse.select(sql, options)),
          selectUpTo: (sql, maxBytes, options) => withRetries(() => clickhouse.selectUpTo(sql, maxBytes, options)),
        },
        { conditions, columns: read },
      );
      for await (const record of records)
        if (record.submittedAt.getTime() >= (lastUses.get(record.responseId) ?? 0)) yield record;
    },

    /** All surveys with rows, also with those of deleted responses, in pages. */
    async *surveyIds(): AsyncGenerator<string[]> {
      for (let last: string | undefined; ; ) {
        const place = last === undefined ? '' : `WHERE survey_id > ${sqlUuid(last)}`;
        const rows = await clickhouse.select<[string]>(
          `SELECT DISTINCT survey_id FROM ${table} ${place} ORDER BY survey_id LIMIT ${sqlInteger(surveysPerPage)}`,
          { timeoutMs: surveyIdsTimeoutMs },
        );
        if (rows.length > 0) yield rows.map(([id]) => id);
        if (rows.length < surveysPerPage) return;
        last = rows.at(-1)?.[0];
      }
    },

    /** Counts of several surveys, with an entry for each. */
    async countBySurvey(surveyIds: readonly string[]): Promise<Map<string, { total: number; complete: number }>> {
      const counts = new Map<string, { total: number; complete: number }>();
      for (const surveyId of surveyIds) counts.set(surveyId, await count({ surveyId }));
      return counts;
    },

    /** The codes of responses at a position that keeps its code in all versions of a response. */
    async codesAt(surveyId: string, slot: number, responseIds: readonly string[]): Promise<ResponseCode[]> {
      if ((await columns.existing(slot + 1)) <= slot || responseIds.length === 0) return [];
      const rows = await clickhouse.select<[string, number, number]>(
        `SELECT response_id, toUnixTimestamp64Milli(submitted_at), max(${codeColumn(slot)}) FROM ${table}
          WHERE survey_id = ${sqlUuid(surveyId)} AND response_id IN (${responseIds.map(sqlUuid).join(', ')}) AND is_deleted = 0 GROUP BY response_id, submitted_at`,
        { timeoutMs: countTimeoutMs },
      );
      return rows.map(([responseId, submittedAtMs, code]) => ({ responseId, submittedAtMs, code }));
    },

    /** Complete responses by the code at a position; responses without a code count under 0. */
    async countCompleteByCode(surveyId: string, slot: number): Promise<Map<number, number>> {
      const column = (await columns.existing(slot + 1)) > slot ? codeColumn(slot) : 'toUInt16(0)';
      const rows = await clickhouse.select<[number, number]>(
        `SELECT ${column} AS code, count() FROM ${table} FINAL WHERE survey_id = ${sqlUuid(surveyId)} AND is_complete = 1 GROUP BY code`,
        { timeoutMs: countTimeoutMs },
      );
      return new Map(rows);
    },

    /** The survey versions that its responses name, superseded versions of responses included. */
    async findSurveyVersions(surveyId: string): Promise<number[]> {
      const rows = await clickhouse.select<[number]>(
        `SELECT DISTINCT survey_version FROM ${table} WHERE survey_id = ${sqlUuid(surveyId)} AND is_deleted = 0`,
        { timeoutMs: countTimeoutMs },
      );
      return rows.map(([version]) => version);
    },

    /** Whether any response has a code at one of these positions. */
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

  /** The last submission times of the ids that name several responses, by id. */
  async function findLastUses(surveyId: string): Promise<Map<string, number>> {
    const rows = await clickhouse.select<[string, number]>(
      `SELECT response_id, toUnixTimestamp64Milli(max(submitted_at)) FROM ${table} WHERE survey_id = ${sqlUuid(surveyId)}
       GROUP BY response_id HAVING min(submitted_at) < max(submitted_at)`,
      {
        timeoutMs: reusedTimeoutMs,
        settings: { max_threads: 1, max_bytes_before_external_group_by: String(maxGroupedBytes) },
      },
    );
    return new Map(rows);
  }

  async function count(selection: Selection): Promise<{ total: number; complete: number }> {
    const slots = selectionSlots(selection);
    const columnOf = await columnNames(columns, slots);
    const scope = {
      clickhouse,
      cluster,
      surveyId: selection.surveyId,
      conditions: conditionsOf(selection, columnOf, clickhouse.table('findings')),
      columns: [
        'is_complete',
        ...(selection.text === undefined ? [] : ['texts']),
        ...headColumns((selection.conditions ?? []).map(({ dimension }) => dimension)),
        ...existingColumns(slots, columnOf),
      ],
      timeLeftMs: createTimeBudget(countTimeoutMs),
    };
    return collectCount((await runScans(scope, [countScan])).rows[0] ?? []);
  }
}

/**
 * Corrects the total by the page: they are two reads, between which responses may be added or deleted, and the page is
 * the newer one.
 */
function consistentTotal(
  counted: number,
  { offset, found, limit }: { offset: number; found: number; limit: number },
): number {
  const seen = found === 0 ? 0 : offset + found;
  return found > limit ? Math.max(counted, seen) : found > 0 || offset === 0 ? seen : counted;
}

export type ResponseStore = ReturnType<typeof createResponseStore>;
