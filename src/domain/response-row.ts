import { uuid } from '../platform/ids.ts';
import { numberOfOutcome, type Outcome, outcomeOfNumber } from './outcome.ts';
import type { AnswerRow } from './questions/contract.ts';

/** A stored response without its answers. */
export interface ResponseHead {
  surveyId: string;
  responseId: string;
  /** Time of first acceptance in Unix milliseconds; never changes. */
  submittedAtMs: number;
  /** Increases with each merge of a partial response; the highest version is the current one. */
  version: number;
  surveyVersion: number;
  outcome: Outcome;
  /** Unix milliseconds; 0 if PARTIAL. */
  completedAtMs: number;
  /**
   * When a PARTIAL one was saved, in surveys that have or had paths and those with quotas by cell: how long it may be
   * continued counts from then.
   */
  savedAtMs?: number;
  /** −1 if unknown. */
  durationMs: number;
  language: string;
  respondent: string;
  metadata: Readonly<Record<string, string>>;
}

/** Bytes that a row may take as a line: a response that is saved in parts can grow beyond what one request may hold. */
export const maxRowBytes = 1024 * 1024;

/** The version of a tombstone: 2^32 − 1, the highest possible. */
const tombstoneVersion = 4_294_967_295;

interface ResponseColumn {
  /** Name in the `responses` table. */
  name: string;
  sqlType: string;
  /** JSON text of the value. */
  encode(head: ResponseHead, row: AnswerRow, isDeleted: boolean): string;
}

/**
 * The columns of a row before its codes, in stored order, by field. Rows in the stream, the table, inserts and readers
 * follow this order. The codes come after them, so that a row may end early. The first three are part of the row
 * format: `rowPrefix` and append.lua read them from rows that may not decode.
 */
const columns = {
  surveyId: { name: 'survey_id', sqlType: 'UUID', encode: (head) => `"${head.surveyId}"` },
  responseId: { name: 'response_id', sqlType: 'UUID', encode: (head) => `"${head.responseId}"` },
  submittedAtMs: { name: 'submitted_at', sqlType: "DateTime64(3, 'UTC')", encode: (head) => `${head.submittedAtMs}` },
  version: { name: 'version', sqlType: 'UInt32', encode: (head) => `${head.version}` },
  isDeleted: { name: 'is_deleted', sqlType: 'UInt8', encode: (_head, _row, isDeleted) => (isDeleted ? '1' : '0') },
  surveyVersion: { name: 'survey_version', sqlType: 'UInt32', encode: (head) => `${head.surveyVersion}` },
  /** The outcome's number. Before there were outcomes, 1 stood for a complete response and 0 for a partial one. */
  outcome: { name: 'is_complete', sqlType: 'UInt8', encode: (head) => `${numberOfOutcome(head.outcome)}` },
  /** Of a PARTIAL response `savedAtMs`. */
  completedAtMs: {
    name: 'completed_at',
    sqlType: "DateTime64(3, 'UTC')",
    encode: ({ completedAtMs, savedAtMs = 0 }) => `${completedAtMs || savedAtMs}`,
  },
  durationMs: { name: 'duration_ms', sqlType: 'Int64', encode: (head) => `${head.durationMs}` },
  language: { name: 'language', sqlType: 'LowCardinality(String)', encode: (head) => quoted(head.language) },
  respondent: { name: 'respondent', sqlType: 'String', encode: (head) => quoted(head.respondent) },
  metadata: {
    name: 'metadata',
    sqlType: 'Map(LowCardinality(String), String)',
    encode: (head) => (isEmpty(head.metadata) ? '{}' : JSON.stringify(head.metadata)),
  },
  numbers: {
    name: 'numbers',
    sqlType: 'Array(Float64)',
    encode: (_head, { numbers }) => (numbers.length === 0 ? '[]' : JSON.stringify(numbers)),
  },
  texts: { name: 'texts', sqlType: 'Array(String)', encode: (_head, { texts }) => quotedList(texts) },
} as const satisfies Record<string, ResponseColumn>;

type ResponseField = keyof typeof columns;

/** Name and SQL type of each column before the codes, in stored order. */
export const responseColumns: readonly Pick<ResponseColumn, 'name' | 'sqlType'>[] = Object.values(columns);

/** Index of each field among the values of a row. */
export const fieldIndex = Object.fromEntries(Object.keys(columns).map((field, index) => [field, index])) as Readonly<
  Record<ResponseField, number>
>;

/** Name of the column of a code position. */
export const codeColumn = (slot: number): string => `c${slot}`;

const encoders: readonly ResponseColumn['encode'][] = Object.values(columns).map(({ encode }) => encode);

/**
 * Encodes a response as one line of JSONCompactEachRow. This happens once, at acceptance; the ingest only joins lines.
 * Trailing zero codes are omitted (missing columns default to 0).
 */
export function encodeResponse(head: ResponseHead, row: AnswerRow, isDeleted = false): string {
  let line = '';
  for (const encode of encoders) line += `${line === '' ? '[' : ','}${encode(head, row, isDeleted)}`;
  return `${line}${codeList(row.codes)}]`;
}

/**
 * The row that deletes a response: same key, highest version, no content. Its `completed_at` is the time of the
 * deletion, after which it is kept for a month; 0 in those of former versions, which stay.
 */
export function encodeTombstone(surveyId: string, responseId: string, submittedAtMs: number, deletedAtMs = 0): string {
  const head: ResponseHead = {
    surveyId,
    responseId,
    submittedAtMs,
    version: tombstoneVersion,
    surveyVersion: 0,
    outcome: 'PARTIAL',
    completedAtMs: deletedAtMs,
    durationMs: -1,
    language: '',
    respondent: '',
    metadata: {},
  };
  return encodeResponse(head, { codes: [], numbers: [], texts: [] }, true);
}

/** Text that needs no JSON escapes: ASCII without control characters, quotes and backslashes. */
const plainText = /^[ !#-[\]-~]*$/;
const maxPlainLength = 100;

/** JSON string. Most texts are short and plain, and testing that is faster than calling the serializer. */
function quoted(text: string): string {
  return text.length < maxPlainLength && plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}

function quotedList(texts: readonly string[]): string {
  let list = '';
  for (const text of texts) list += list === '' ? quoted(text) : `,${quoted(text)}`;
  return `[${list}]`;
}

/** Buffer for the digits of all codes; writing them here takes a third of the time of joining strings. */
const draft = Buffer.alloc(4096);
const [commaSign, zeroSign] = [0x2c, 0x30];
/** Characters of the longest safe integer with its comma. */
const maxCodeLength = 17;

/** The codes, each preceded by a comma, without trailing zeros. */
function codeList(codes: readonly number[]): string {
  let used = codes.length;
  while (used > 0 && codes[used - 1] === 0) used -= 1;
  if (used * maxCodeLength > draft.length) return `,${codes.slice(0, used).join(',')}`;
  let at = 0;
  for (let index = 0; index < used; index += 1) {
    draft[at] = commaSign;
    at = putDigits(codes[index] ?? 0, at + 1);
  }
  return draft.toString('latin1', 0, at);
}

/** Writes the digits of a non-negative integer at an offset; returns the offset after them. */
function putDigits(number: number, at: number): number {
  const before = number < 10 ? at : putDigits(Math.floor(number / 10), at);
  draft[before] = zeroSign + (number % 10);
  return before + 1;
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false;
  return true;
}

const firstCodeIndex = responseColumns.length;

const maxTimestampMs = 8.64e15;
const isTimestamp = (value: unknown): boolean =>
  Number.isSafeInteger(value) && Math.abs(Number(value)) <= maxTimestampMs;

export interface DecodedResponse {
  head: ResponseHead;
  row: AnswerRow;
  isDeleted: boolean;
}

/** Decodes a line of `encodeResponse` or `encodeTombstone`. Throws an Error for any other line. */
export function decodeResponse(line: string): DecodedResponse {
  const values: unknown = JSON.parse(line);
  if (!Array.isArray(values) || values.length < firstCodeIndex) throw new Error('not a response row');
  const decoded = decodeValues(values, values.slice(firstCodeIndex));
  const { surveyId, responseId, submittedAtMs, completedAtMs, version } = decoded.head;
  if (
    typeof surveyId !== 'string' ||
    typeof responseId !== 'string' ||
    !isTimestamp(submittedAtMs) ||
    !isTimestamp(completedAtMs) ||
    !Number.isSafeInteger(version)
  )
    throw new Error('not a response row');
  return decoded;
}

/** Converts values in column order, as the intake or ClickHouse returns them; their types are not checked. */
export function decodeValues(values: readonly unknown[], codes: number[]): DecodedResponse {
  const outcome = outcomeOfNumber(values[fieldIndex.outcome] as number);
  const isDeleted = values[fieldIndex.isDeleted] === 1;
  const endedAtMs = values[fieldIndex.completedAtMs] as number;
  const isOpen = outcome === 'PARTIAL' && !isDeleted && isTimestamp(endedAtMs);
  return {
    head: {
      surveyId: values[fieldIndex.surveyId] as string,
      responseId: values[fieldIndex.responseId] as string,
      submittedAtMs: values[fieldIndex.submittedAtMs] as number,
      version: values[fieldIndex.version] as number,
      surveyVersion: values[fieldIndex.surveyVersion] as number,
      outcome,
      completedAtMs: isOpen ? 0 : endedAtMs,
      ...(isOpen && endedAtMs > 0 && { savedAtMs: endedAtMs }),
      durationMs: values[fieldIndex.durationMs] as number,
      language: values[fieldIndex.language] as string,
      respondent: values[fieldIndex.respondent] as string,
      metadata: values[fieldIndex.metadata] as Record<string, string>,
    },
    row: {
      codes,
      numbers: values[fieldIndex.numbers] as number[],
      texts: values[fieldIndex.texts] as string[],
    },
    isDeleted,
  };
}

const rowPrefix = new RegExp(`^\\["(${uuid})","(${uuid})"`);

/** The survey's id at the start of a line of the stream; not checked. */
export const surveyIdOfLine = (line: string): string => line.slice(2, 38);

/** The ids at the start of a line; they are usually readable even if the line does not decode. */
export function idsOfLine(line: string): { surveyId: string; responseId: string } | undefined {
  const [, surveyId, responseId] = rowPrefix.exec(line) ?? [];
  return surveyId === undefined || responseId === undefined ? undefined : { surveyId, responseId };
}

/**
 * Number of code positions in a line: its top-level items after the fixed columns. Also works for lines that do not
 * parse as JSON.
 */
export function codePositionsOf(line: string): number {
  let [items, depth, isText] = [1, 0, false];
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at];
    if (character === '\\') at += 1;
    else if (character === '"') isText = !isText;
    else if (isText) continue;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    else if (character === ',' && depth === 1) items += 1;
  }
  return Math.max(0, items - firstCodeIndex);
}
