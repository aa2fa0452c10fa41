import type { AskedSurvey } from '../../../domain/analytics/asked.ts';
import type { ClickHouse } from '../client.ts';
import { lastAnswered } from '../counts/not-asked.ts';
import { createCodeColumns } from '../schema/code-columns.ts';
import type { Placement } from '../schema/placement.ts';
import { sqlInteger, sqlMoment } from '../sql-literals.ts';
import { type CsvColumn, csvCells, lastAnsweredColumn } from './csv-cells.ts';
import { keysetCondition, nextSize, readInPieces, smallerSize } from './pages.ts';
import {
  codesOf,
  metadataOf,
  type RecordCells,
  type ResponseKey,
  type ResponseRecord,
  recordColumns,
  textsOf,
  toRecord,
} from './record.ts';
import { allOf, columnNames, conditionsOf, type Selection, selectionSlots } from './selection.ts';

/** Rows of one step. A span consists of as many steps as fit into its limits. */
const rowsPerStep = 2500;
const batchRows = 1000;
/** Lines that are read at once; a span with more is read in pieces. */
const maxLinesBytes = 64 * 1024 * 1024;
const edgesTimeoutMs = 60_000;
const linesTimeoutMs = 60_000;
// All versions of a response are in one partition, because its submission time never changes.
const settings = { do_not_merge_across_partitions_select_final: 1 };
/** Unescaped cells, separated by commas, with line ends of RFC 4180. */
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

/** Lines that were read together. */
interface LinesPiece {
  lines: CsvLines;
  bytes: number;
  /** Whether they are the last of their span. */
  isLast: boolean;
}

/** The content of a span. Pieces that do not fit into memory with the first one are read when they are wanted. */
interface SpanInPieces<Piece> {
  first: Piece;
  others: AsyncGenerator<Piece>;
}

/** The content of a span and its size, from which the number of steps of the next span is computed. */
interface MeasuredSpan<T> {
  content: T;
  rows: number;
  bytes: number;
}

/** Maximum size of a span, and how many spans are read ahead. */
interface SpanLimits {
  rows: number;
  bytes: number;
  prefetch: number;
}

const noLines: LinesPiece = { lines: { pieces: [], rows: 0 }, bytes: 0, isLast: true };

/** Records are objects, and the writer is the slower side; lines are bytes, and the database is the slower side. */
const recordLimits: SpanLimits = { rows: 10_000, bytes: 4e6, prefetch: 1 };
const lineLimits: SpanLimits = { rows: 50_000, bytes: 16e6, prefetch: 2 };
/** Under load: small spans, none read ahead, one thread. */
const underLoadLimits: SpanLimits = { rows: 10_000, bytes: 4e6, prefetch: 0 };
const underLoadSettings = { max_threads: 1 };

export interface ExportRowsDeps extends Placement {
  clickhouse: ClickHouse;
  /** Whether respondents need the machine; then less is read at once. */
  isUnderLoad?(): boolean;
}

/** Reads all responses of a selection for files, as fast as possible in constant memory. */
export function createExportRows({ clickhouse, cluster, isUnderLoad = () => false }: ExportRowsDeps) {
  const columns = createCodeColumns(clickhouse, { cluster });
  const table = clickhouse.table('responses');
  const limitsNow = (limits: SpanLimits) => () => (isUnderLoad() ? underLoadLimits : limits);
  const settingsNow = (own: Readonly<Record<string, number | string>>) =>
    isUnderLoad() ? { ...own, ...underLoadSettings } : own;
  const conditionsFor = async (selection: Selection) =>
    conditionsOf(selection, await columnNames(columns, selectionSlots(selection)), clickhouse.table('findings'));
  /**
   * `names`: expressions with names that `shown` may use; each row has them once, as columns. `constants`: the same
   * without columns.
   */
  const statement = (
    shown: string,
    condition: string,
    {
      names = [],
      constants = [],
      limit,
    }: { names?: readonly string[]; constants?: readonly string[]; limit?: number | undefined } = {},
  ) => {
    const rows = `${table} FINAL WHERE ${condition}`;
    const source = names.length === 0 ? rows : `(SELECT *, ${names.join(', ')} FROM ${rows})`;
    const shared = constants.length === 0 ? '' : `WITH ${constants.join(', ')} `;
    const atMost = limit === undefined ? '' : ` LIMIT ${sqlInteger(limit)}`;
    return `${shared}SELECT ${shown} FROM ${source} ORDER BY submitted_at, response_id${atMost}`;
  };
  return {
    /**
     * All responses of the selection in batches, oldest first. Each span of time is a separate query, and the next one
     * runs while the rows of the previous one are processed. The order is the same in every run.
     */
    async *batches(selection: Selection, codeColumns: number): AsyncGenerator<readonly ResponseRecord[]> {
      const conditions = await conditionsFor(selection);
      const shown = recordColumns(Math.min(codeColumns, await columns.existing(codeColumns)));
      const read = async (span: string): Promise<MeasuredSpan<SpanInPieces<readonly RecordCells[]>>> => {
        const others = readInPieces(
          clickhouse,
          (place, limit) => statement(shown, allOf([conditions.full, span, place]), { limit }),
          { settings: settingsNow(settings) },
        );
        const first: RecordCells[] = (await others.next()).value ?? [];
        return { content: { first, others }, rows: first.length, bytes: approximateBytes(first) };
      };
      for await (const { first, others } of readSpans(await edges(conditions.key), limitsNow(recordLimits), read)) {
        yield* inBatches(first);
        for await (const rows of others) yield* inBatches(rows);
      }
    },

    /** The most frequent keys of the metadata in the selection, at most `limit`, in the order of their bytes. */
    async metadataKeys(selection: Selection, limit: number): Promise<string[]> {
      const conditions = await conditionsFor(selection);
      const rows = await clickhouse.select<[string]>(
        `SELECT key FROM (SELECT arrayJoin(mapKeys(metadata)) AS key, count() AS amount FROM ${table} FINAL
          WHERE ${allOf([conditions.full])} GROUP BY key ORDER BY amount DESC, key LIMIT ${sqlInteger(limit)}) ORDER BY key`,
        { settings: settingsNow(settings), timeoutMs: linesTimeoutMs },
      );
      return rows.map(([key]) => key);
    },

    /**
     * The same responses as lines of a CSV file, formatted by ClickHouse. `asked`: where missing answers are
     * labelled.
     */
    async *csvLines(
      selection: Selection,
      csvColumns: readonly CsvColumn[],
      { codeColumns, asked }: { codeColumns: number; asked?: AskedSurvey | undefined },
    ): AsyncGenerator<CsvLines> {
      const conditions = await conditionsFor(selection);
      const columnOf = await columnNames(columns, [codeColumns - 1]);
      const expressions = createNaming(
        'named',
        asked && new Map([[lastAnswered(asked, columnOf), lastAnsweredColumn]]),
      );
      const constants = createNaming('constant');
      const naming = { nameOf: expressions.nameOf, nameOfConstant: constants.nameOf };
      const cells = csvCells(csvColumns, columnOf, naming).join(', ');
      const shared = { names: expressions.definitions(), constants: constants.definitions() };
      const linesWhere = async (place: string, maxBytes: number) => {
        const { pieces, isWhole } = await clickhouse.bytes(
          statement(cells, allOf([conditions.full, place]), shared),
          'CustomSeparated',
          maxBytes,
          { settings: settingsNow(csvFormatSettings), timeoutMs: linesTimeoutMs },
        );
        const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
        return { lines: { pieces, rows: countLines(pieces) }, bytes, isWhole };
      };
      // How many lines fit, once a span had too many bytes; then those that follow are read in pieces at once.
      let fitting: number | undefined;
      const linesOf = async function* (span: string): AsyncGenerator<LinesPiece> {
        let size = fitting;
        if (size === undefined) {
          const { isWhole, ...read } = await linesWhere(span, maxLinesBytes);
          if (isWhole) return yield { ...read, isLast: true };
          size = Math.max(1, read.lines.rows);
        }
        const keys = await keysWhere(allOf([conditions.full, span]));
        for (let at = 0; at < keys.length; ) {
          const [before, last] = [keys[at - 1], keys[at + size - 1]];
          const amount = Math.min(size, keys.length - at);
          const place = allOf([
            span,
            before === undefined ? '' : keysetCondition('>', before),
            last === undefined ? '' : keysetCondition('<=', last),
          ]);
          const { isWhole, ...read } = await linesWhere(place, amount === 1 ? Number.POSITIVE_INFINITY : maxLinesBytes);
          if (isWhole) {
            at += amount;
            size = nextSize(size, read.bytes / amount, maxLinesBytes);
            yield { ...read, isLast: at >= keys.length };
          } else size = smallerSize(amount, read.lines.rows);
        }
        fitting = size < rowsPerStep ? size : undefined;
      };
      const read = async (span: string): Promise<MeasuredSpan<SpanInPieces<LinesPiece>>> => {
        const others = linesOf(span);
        const first = (await others.next()).value ?? noLines;
        // The size of a span of several pieces is not known: it is no measure for others, and none is read beside it.
        const bytes = first.isLast ? first.bytes : Number.POSITIVE_INFINITY;
        return { content: { first, others }, rows: first.lines.rows, bytes };
      };
      for await (const { first, others } of readSpans(await edges(conditions.key), limitsNow(lineLimits), read)) {
        yield first.lines;
        for await (const { lines } of others) yield lines;
      }
    },
  };

  /** The keys of responses, in the order of the lines. */
  async function keysWhere(condition: string): Promise<ResponseKey[]> {
    const rows = await clickhouse.select<[number, string]>(
      statement('toUnixTimestamp64Milli(submitted_at), response_id', condition),
      { settings: settingsNow(settings), timeoutMs: linesTimeoutMs },
    );
    return rows.map(([submittedAtMs, responseId]) => ({ submittedAtMs, responseId }));
  }

  /** Submission times that are `rowsPerStep` rows apart. They only decide the size of the steps. */
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

function* inBatches(rows: readonly RecordCells[]): Generator<readonly ResponseRecord[]> {
  for (let at = 0; at < rows.length; at += batchRows) yield rows.slice(at, at + batchRows).map(toRecord);
}

/** Names for expressions, the same one for the same expression. */
function createNaming(prefix: string, named = new Map<string, string>()) {
  return {
    nameOf(expression: string): string {
      const name = named.get(expression) ?? `${prefix}_${named.size}`;
      named.set(expression, name);
      return name;
    },
    definitions: (): string[] => [...named].map(([expression, name]) => `${expression} AS ${name}`),
  };
}

/**
 * Reads span after span, some of them ahead. The first span is a single step; the size of its rows decides how many
 * steps further spans have.
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
    // A step that is over the limit alone is not held twice.
    const ahead = bytes > limits.bytes ? 0 : limits.prefetch;
    while (prefetched.length < ahead && at <= edges.length) prefetchNext();
    yield content;
  }
}

function stepsWithin(limits: SpanLimits, rows: number, bytes: number): number {
  const bytesInStep = (bytes / Math.max(1, rows)) * rowsPerStep;
  return Math.max(1, Math.floor(Math.min(limits.rows / rowsPerStep, limits.bytes / Math.max(1, bytesInStep))));
}

/** SQL condition for a span of submission time. The spans cover all times without overlap. */
function spanBetween(from: number | undefined, to: number | undefined): string {
  return allOf([
    from === undefined ? '' : `submitted_at >= ${sqlMoment(from)}`,
    to === undefined ? '' : `submitted_at < ${sqlMoment(to)}`,
  ]);
}

/** Throws a failure of work that was begun early only when its result is awaited, so that the rejection is handled. */
function deferRejection<T>(work: Promise<T>): () => Promise<T> {
  work.catch(() => undefined);
  return () => work;
}

const fixedRowBytes = 200;
const bytesPerCode = 8;

/** Estimated memory of the rows: a fixed size each, or that of their codes, and the length of texts and metadata. */
function approximateBytes(rows: readonly RecordCells[]): number {
  return rows.reduce(
    (sum, cells) =>
      sum +
      Math.max(fixedRowBytes, codesOf(cells).length * bytesPerCode) +
      lengthOf(textsOf(cells)) +
      lengthOf(Object.values(metadataOf(cells))),
    0,
  );
}

const lengthOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);

const quote = 0x22;
const newline = 0x0a;

/** Counts line ends outside quotes, one for each row. */
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
