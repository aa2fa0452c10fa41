import type { ClickHouse } from '../client.ts';
import { createCodeColumns } from '../schema/code-columns.ts';
import type { Placement } from '../schema/placement.ts';
import { sqlInteger, sqlMoment } from '../sql-literals.ts';
import { type CsvColumn, csvCell } from './csv-cells.ts';
import { type RecordCells, type ResponseRecord, recordColumns, textsOf, toRecord } from './record.ts';
import { allOf, columnNames, conditionsOf, type Selection, selectionSlots } from './selection.ts';

/** A step of the time line; a span is some of them, as many as the memory for it holds. */
const rowsPerStep = 2500;
const batchRows = 1000;
const edgesTimeoutMs = 60_000;
const linesTimeoutMs = 60_000;
// All versions of a response lie in one partition, as its moment never changes.
const settings = { do_not_merge_across_partitions_select_final: 1 };
/** Each cell as its expression makes it, commas between them, lines ended as RFC 4180 has it. */
const csvFormatSettings = {
  ...settings,
  format_custom_escaping_rule: 'Raw',
  format_custom_field_delimiter: ',',
  format_custom_row_after_delimiter: '\r\n',
  output_format_json_escape_forward_slashes: 0,
};

export interface CsvLines {
  pieces: readonly Uint8Array[];
  rows: number;
}

/** What a span held: the next one has as many steps as fit in its bounds if the rows are alike. */
interface MeasuredSpan<T> {
  content: T;
  rows: number;
  bytes: number;
}

/** Of a span, and how many are asked for before the one in work is done with. */
interface SpanLimits {
  rows: number;
  bytes: number;
  prefetch: number;
}

/**
 * Records stand in memory as objects and keep the writer busy; lines are bytes, and there the database is the slower.
 */
const recordLimits: SpanLimits = { rows: 10_000, bytes: 4e6, prefetch: 1 };
const lineLimits: SpanLimits = { rows: 50_000, bytes: 16e6, prefetch: 2 };
/** In a rush: little at a time, nothing meanwhile, on one processor. */
const underLoadLimits: SpanLimits = { rows: 10_000, bytes: 4e6, prefetch: 0 };
const underLoadSettings = { max_threads: 1 };

export interface ExportRowsDeps extends Placement {
  clickhouse: ClickHouse;
  /** Whether others need the machine: then less is read at once. */
  isUnderLoad?(): boolean;
}

/** Responses on their way into files: everything of a selection, as fast as it can be read in flat memory. */
export function createExportRows({ clickhouse, cluster, isUnderLoad = () => false }: ExportRowsDeps) {
  const columns = createCodeColumns(clickhouse, { cluster });
  const table = clickhouse.table('responses');
  const limitsNow = (limits: SpanLimits) => () => (isUnderLoad() ? underLoadLimits : limits);
  const settingsNow = (own: Readonly<Record<string, number | string>>) =>
    isUnderLoad() ? { ...own, ...underLoadSettings } : own;
  const conditionsFor = async (selection: Selection) =>
    conditionsOf(selection, await columnNames(columns, selectionSlots(selection)), clickhouse.table('findings'));
  const statement = (shown: string, condition: string) =>
    `SELECT ${shown} FROM ${table} FINAL WHERE ${condition} ORDER BY submitted_at, response_id`;
  return {
    /**
     * Every response of the selection, oldest first, some at a time. The time line is cut into spans; each is a query
     * of its own, and the next one runs while the rows of the last are worked on. The order is the same in every run.
     */
    async *batches(selection: Selection, codeColumns: number): AsyncGenerator<readonly ResponseRecord[]> {
      const conditions = await conditionsFor(selection);
      const shown = recordColumns(Math.min(codeColumns, await columns.existing(codeColumns)));
      const read = async (span: string): Promise<MeasuredSpan<RecordCells[]>> => {
        const rows = await clickhouse.select<RecordCells>(statement(shown, allOf([conditions.full, span])), {
          settings: settingsNow(settings),
        });
        return { content: rows, rows: rows.length, bytes: approximateBytes(rows) };
      };
      for await (const rows of readSpans(await edges(conditions.key), limitsNow(recordLimits), read))
        for (let at = 0; at < rows.length; at += batchRows) yield rows.slice(at, at + batchRows).map(toRecord);
    },

    /** The same responses as lines of a CSV file, written by the database. */
    async *csvLines(
      selection: Selection,
      csvColumns: readonly CsvColumn[],
      codeColumns: number,
    ): AsyncGenerator<CsvLines> {
      const conditions = await conditionsFor(selection);
      const columnOf = await columnNames(columns, [codeColumns - 1]);
      const cells = csvColumns.map((column) => csvCell(column, columnOf)).join(', ');
      const read = async (span: string): Promise<MeasuredSpan<CsvLines>> => {
        const pieces = await clickhouse.bytes(statement(cells, allOf([conditions.full, span])), 'CustomSeparated', {
          settings: settingsNow(csvFormatSettings),
          timeoutMs: linesTimeoutMs,
        });
        const rows = countLines(pieces);
        return { content: { pieces, rows }, rows, bytes: pieces.reduce((sum, { length }) => sum + length, 0) };
      };
      yield* readSpans(await edges(conditions.key), limitsNow(lineLimits), read);
    },
  };

  /** Moments that many rows apart. Where exactly they lie decides nothing but the size of the steps. */
  async function edges(key: string): Promise<number[]> {
    const inOrder = `SELECT submitted_at FROM ${table} WHERE ${key} ORDER BY survey_id, submitted_at`;
    const rows = await clickhouse.select<[number]>(
      `SELECT toUnixTimestamp64Milli(submitted_at) FROM (SELECT submitted_at, rowNumberInAllBlocks() AS place FROM (${inOrder})) WHERE place % ${sqlInteger(rowsPerStep)} = ${sqlInteger(rowsPerStep - 1)}`,
      { timeoutMs: edgesTimeoutMs, settings: settingsNow({}) },
    );
    return [...new Set(rows.map(([moment]) => moment))].sort((a, b) => a - b);
  }
}

export type ExportRows = ReturnType<typeof createExportRows>;

/**
 * Reads span after span, some ahead of the one in work. The first is a single step; how heavy its rows are decides how
 * many steps the others take.
 */
async function* readSpans<T>(
  edges: readonly number[],
  limitsNow: () => SpanLimits,
  read: (span: string) => Promise<MeasuredSpan<T>>,
): AsyncGenerator<T> {
  const prefetched: (() => Promise<MeasuredSpan<T>>)[] = [];
  let steps = 1;
  let at = 0;
  const prefetchNext = () => {
    const from = at === 0 ? undefined : edges[at - 1];
    const to = edges[at + steps - 1];
    at = to === undefined ? edges.length + 1 : at + steps;
    prefetched.push(deferRejection(read(spanBetween(from, to))));
  };
  for (;;) {
    if (prefetched.length === 0 && at <= edges.length) prefetchNext();
    const next = prefetched.shift();
    if (next === undefined) return;
    const { content, rows, bytes } = await next();
    const limits = limitsNow();
    steps = stepsWithin(limits, rows, bytes);
    while (prefetched.length < limits.prefetch && at <= edges.length) prefetchNext();
    yield content;
  }
}

function stepsWithin(limits: SpanLimits, rows: number, bytes: number): number {
  const bytesInStep = (bytes / Math.max(1, rows)) * rowsPerStep;
  return Math.max(1, Math.floor(Math.min(limits.rows / rowsPerStep, limits.bytes / Math.max(1, bytesInStep))));
}

/** A condition on the moment; together those of all spans hold for every moment, each once. */
function spanBetween(from: number | undefined, to: number | undefined): string {
  return allOf([
    from === undefined ? '' : `submitted_at >= ${sqlMoment(from)}`,
    to === undefined ? '' : `submitted_at < ${sqlMoment(to)}`,
  ]);
}

/** A failure of work that was begun early is thrown where its result is asked for, and is not unhandled before. */
function deferRejection<T>(work: Promise<T>): () => Promise<T> {
  work.catch(() => undefined);
  return () => work;
}

const fixedRowBytes = 200;

/** About what the rows take in memory: answers in words differ by thousands, everything else by little. */
function approximateBytes(rows: readonly RecordCells[]): number {
  return rows.reduce(
    (sum, cells) => textsOf(cells).reduce((length, text) => length + text.length, sum + fixedRowBytes),
    0,
  );
}

const quote = 0x22;
const newline = 0x0a;

/** Line ends that stand outside quotes: one a row. */
function countLines(pieces: readonly Uint8Array[]): number {
  let rows = 0;
  let isQuoted = 0;
  for (const piece of pieces)
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at];
      if (byte === quote) isQuoted ^= 1;
      else if (byte === newline && isQuoted === 0) rows += 1;
    }
  return rows;
}
