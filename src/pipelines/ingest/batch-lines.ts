import type { RowKey } from '../../stores/clickhouse/read/stored-rows.ts';
import type { StreamEntry } from '../../stores/redis/intake/stream.ts';

/** Some rows of a batch, one line each (JSON, see `encodeResponse`). */
export interface BatchPart {
  lines: Buffer;
  rows: number;
}

/** The rows of all entries, one line each. */
export function linesOf(entries: readonly Pick<StreamEntry, 'count' | 'rows'>[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    if (entry.count === 0) continue;
    if (parts.length > 0) parts.push(lineFeedBytes);
    parts.push(entry.rows);
  }
  return Buffer.concat(parts);
}

/** The idempotency records of all entries, one line each; empty where there are none. */
export const recordLinesOf = (entries: readonly Pick<StreamEntry, 'records'>[]): Buffer =>
  linesOf(entries.map(({ records }) => ({ count: records.length, rows: records })));

/** The surveys of all rows, once each. */
export const surveyIdsOf = (entries: readonly StreamEntry[]): string[] => [
  ...new Set(entries.flatMap(({ surveyIds }) => surveyIds)),
];

/** Splits after the n-th line and drops the line feed between the parts. */
export function splitLines(lines: Buffer, n: number): [Buffer, Buffer] {
  let at = -1;
  for (let line = 0; line < n; line += 1) at = lines.indexOf(lineFeed, at + 1);
  return [lines.subarray(0, at), lines.subarray(at + 1)];
}

/** The key of a row, read from the bytes of its line without creating strings. */
export interface RowView {
  /** Where its line begins and ends. */
  start: number;
  end: number;
  submittedAtMs: number;
  version: number;
  /** The last 32 bits of the response's id. */
  idTail: number;
}

const [lineFeed, comma] = [0x0a, 0x2c];
const lineFeedBytes = Buffer.from('\n');
/** `["<survey id>","<response id>",<submitted at>,<version>,`, see `encodeResponse`. */
const [surveyAt, responseAt, numbersAt] = [2, 41, 79];
const idLength = 36;
const tailLength = 8;

/**
 * Iterates over the rows of some lines; lines without a readable key are skipped, as no store can read them either. The
 * view is reused.
 */
export function* rowViews(lines: Buffer): Generator<RowView> {
  const view: RowView = { start: 0, end: 0, submittedAtMs: 0, version: 0, idTail: 0 };
  for (let start = 0; start < lines.length; ) {
    const found = lines.indexOf(lineFeed, start);
    const end = found === -1 ? lines.length : found;
    if (readInto(view, lines, start, end)) yield view;
    start = end + 1;
  }
}

export const surveyIdOf = (lines: Buffer, { start }: RowView): string =>
  lines.toString('latin1', start + surveyAt, start + surveyAt + idLength);

export const keyOf = (lines: Buffer, view: RowView): RowKey => ({
  surveyId: surveyIdOf(lines, view),
  responseId: lines.toString('latin1', view.start + responseAt, view.start + responseAt + idLength),
  submittedAtMs: view.submittedAtMs,
  version: view.version,
});

function readInto(view: RowView, lines: Buffer, start: number, end: number): boolean {
  if (end - start < numbersAt + 4 || lines[start] !== 0x5b || lines[start + numbersAt - 1] !== comma) return false;
  view.start = start;
  view.end = end;
  let at = start + numbersAt;
  const momentEnd = lines.indexOf(comma, at);
  view.submittedAtMs = wholeAt(lines, at, momentEnd);
  at = momentEnd + 1;
  view.version = wholeAt(lines, at, lines.indexOf(comma, at));
  view.idTail = hexAt(lines, start + responseAt + idLength - tailLength);
  return view.submittedAtMs >= 0 && view.version >= 0 && view.idTail >= 0;
}

/** The whole number between two offsets; −1 if there is none. */
function wholeAt(lines: Buffer, from: number, to: number): number {
  if (to <= from || to - from > 15) return -1;
  let number = 0;
  for (let at = from; at < to; at += 1) {
    const digit = (lines[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number;
}

function hexAt(lines: Buffer, from: number): number {
  let number = 0;
  for (let at = from; at < from + tailLength; at += 1) {
    const sign = lines[at] ?? 0;
    const digit = sign >= 0x61 && sign <= 0x66 ? sign - 0x57 : sign >= 0x30 && sign <= 0x39 ? sign - 0x30 : Number.NaN;
    number = number * 16 + digit;
  }
  return Number.isNaN(number) ? -1 : number;
}
