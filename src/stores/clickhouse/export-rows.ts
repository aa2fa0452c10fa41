import type { ClickHouse } from './client.ts';
import { createCodeColumns } from './code-columns.ts';
import { csvCell, type CsvColumn } from './csv-cells.ts';
import type { Placement } from './placement.ts';
import { instant, whole } from './query/literals.ts';
import { recordColumns, toRecord, type RecordCells, type ResponseRecord } from './query/record.ts';
import { all, columnNames, conditionsOf, selectionSlots, type Selection } from './query/selection.ts';

/** A step of the time line; a span is some of them, as many as the memory for it holds. */
const stepRows = 2500;
const rowsAtOnce = 1000;
const edgesTimeoutMs = 60_000;
const linesTimeoutMs = 60_000;
// All versions of a response lie in one partition, as its moment never changes.
const settings = { do_not_merge_across_partitions_select_final: 1 };
/** Each cell as its expression makes it, commas between them, lines ended as RFC 4180 has it. */
const lineForm = {
  ...settings, format_custom_escaping_rule: 'Raw', format_custom_field_delimiter: ',', format_custom_row_after_delimiter: '\r\n', output_format_json_escape_forward_slashes: 0,
};

export interface CsvLines {
  pieces: readonly Uint8Array[];
  rows: number;
}

/** What a span held: the next one has as many steps as fit in its bounds if the rows are alike. */
interface Weighed<T> {
  content: T;
  rows: number;
  bytes: number;
}

/** Of a span, and how many are asked for before the one in work is done with. */
interface Bounds {
  rows: number;
  bytes: number;
  ahead: number;
}

/** Records stand in memory as objects and keep the writer busy; lines are bytes, and there the database is the slower. */
const recordBounds: Bounds = { rows: 10_000, bytes: 4e6, ahead: 1 };
const lineBounds: Bounds = { rows: 50_000, bytes: 16e6, ahead: 2 };
/** In a rush: little at a time, nothing meanwhile, on one processor. */
const rushBounds: Bounds = { rows: 10_000, bytes: 4e6, ahead: 0 };
const rushSettings = { max_threads: 1 };

export interface ExportRowsDeps extends Placement {
  clickhouse: ClickHouse;
  /** Whether others need the machine: then less is read at once. */
  isRush?(): boolean;
}

/** Responses on their way into files: everything of a selection, as fast as it can be read in flat memory. */
export function createExportRows({ clickhouse, cluster, isRush = () => false }: ExportRowsDeps) {
  const columns = createCodeColumns(clickhouse, { cluster });
  const table = clickhouse.table('responses');
  const within = (bounds: Bounds) => () => (isRush() ? rushBounds : bounds);
  const here = (own: Readonly<Record<string, number | string>>) => (isRush() ? { ...own, ...rushSettings } : own);
  const conditionsFor = async (selection: Selection) => conditionsOf(selection, await columnNames(columns, selectionSlots(selection)), clickhouse.table('findings'));
  const statement = (shown: string, condition: string) => `SELECT ${shown} FROM ${table} FINAL WHERE ${condition} ORDER BY submitted_at, response_id`;
  return {
    /**
     * Every response of the selection, oldest first, some at a time. The time line is cut into spans; each is a query of its own, and
     * the next one runs while the rows of the last are worked on. The order is the same in every run.
     */
    async *batches(selection: Selection, codeColumns: number): AsyncGenerator<readonly ResponseRecord[]> {
      const conditions = await conditionsFor(selection);
      const shown = recordColumns(Math.min(codeColumns, await columns.existing(codeColumns)));
      const read = async (span: string): Promise<Weighed<RecordCells[]>> => {
        const rows = await clickhouse.select<RecordCells>(statement(shown, all([conditions.whole, span])), { settings: here(settings) });
        return { content: rows, rows: rows.length, bytes: textLength(rows) };
      };
      for await (const rows of inSpans(await edges(conditions.key), within(recordBounds), read))
        for (let at = 0; at < rows.length; at += rowsAtOnce) yield rows.slice(at, at + rowsAtOnce).map(toRecord);
    },

    /** The same responses as lines of a CSV file, written by the database. */
    async *csvLines(selection: Selection, asked: readonly CsvColumn[], codeColumns: number): AsyncGenerator<CsvLines> {
      const conditions = await conditionsFor(selection);
      const columnOf = await columnNames(columns, [codeColumns - 1]);
      const cells = asked.map((column) => csvCell(column, columnOf)).join(', ');
      const read = async (span: string): Promise<Weighed<CsvLines>> => {
        const pieces = await clickhouse.bytes(statement(cells, all([conditions.whole, span])), 'CustomSeparated', { settings: here(lineForm), timeoutMs: linesTimeoutMs });
        const rows = countLines(pieces);
        return { content: { pieces, rows }, rows, bytes: pieces.reduce((sum, { length }) => sum + length, 0) };
      };
      yield* inSpans(await edges(conditions.key), within(lineBounds), read);
    },
  };

  /** Moments that many rows apart. Where exactly they lie decides nothing but the size of the steps. */
  async function edges(key: string): Promise<number[]> {
    const inOrder = `SELECT submitted_at FROM ${table} WHERE ${key} ORDER BY survey_id, submitted_at`;
    const rows = await clickhouse.select<[number]>(
      `SELECT toUnixTimestamp64Milli(submitted_at) FROM (SELECT submitted_at, rowNumberInAllBlocks() AS place FROM (${inOrder})) WHERE place % ${whole(stepRows)} = ${whole(stepRows - 1)}`,
      { timeoutMs: edgesTimeoutMs, settings: here({}) },
    );
    return [...new Set(rows.map(([moment]) => moment))].sort((a, b) => a - b);
  }
}

export type ExportRows = ReturnType<typeof createExportRows>;

/**
 * Reads span after span, some ahead of the one in work. The first is a single step; how heavy its rows are decides how many steps the
 * others take.
 */
async function* inSpans<T>(edges: readonly number[], boundsNow: () => Bounds, read: (span: string) => Promise<Weighed<T>>): AsyncGenerator<T> {
  const begun: (() => Promise<Weighed<T>>)[] = [];
  let steps = 1;
  let at = 0;
  const begin = () => {
    const from = at === 0 ? undefined : edges[at - 1];
    const to = edges[at + steps - 1];
    at = to === undefined ? edges.length + 1 : at + steps;
    begun.push(ahead(read(spanBetween(from, to))));
  };
  for (;;) {
    if (begun.length === 0 && at <= edges.length) begin();
    const next = begun.shift();
    if (next === undefined) return;
    const { content, rows, bytes } = await next();
    const bounds = boundsNow();
    steps = stepsWithin(bounds, rows, bytes);
    while (begun.length < bounds.ahead && at <= edges.length) begin();
    yield content;
  }
}

function stepsWithin(bounds: Bounds, rows: number, bytes: number): number {
  const bytesInStep = (bytes / Math.max(1, rows)) * stepRows;
  return Math.max(1, Math.floor(Math.min(bounds.rows / stepRows, bounds.bytes / Math.max(1, bytesInStep))));
}

/** A condition on the moment; together those of all spans hold for every moment, each once. */
function spanBetween(from: number | undefined, to: number | undefined): string {
  return all([from === undefined ? '' : `submitted_at >= ${instant(from)}`, to === undefined ? '' : `submitted_at < ${instant(to)}`]);
}

/** A failure of work that was begun early is thrown where its result is asked for, and is not unhandled before. */
function ahead<T>(work: Promise<T>): () => Promise<T> {
  work.catch(() => undefined);
  return () => work;
}

const numbersBytes = 200;

/** About what the rows take in memory: answers in words differ by thousands, everything else by little. */
function textLength(rows: readonly RecordCells[]): number {
  return rows.reduce((sum, [, , , , , , , , , , , , texts]) => texts.reduce((length, text) => length + text.length, sum + numbersBytes), 0);
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
