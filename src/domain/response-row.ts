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
  isComplete: boolean;
  /** Unix milliseconds; 0 if not complete. */
  completedAtMs: number;
  /** −1 if unknown. */
  durationMs: number;
  language: string;
  respondent: string;
  metadata: Readonly<Record<string, string>>;
}

/** Bytes that a row may take as a line: a response that is saved in parts can grow beyond what one request may hold. */
export const maxRowBytes = 1024 * 1024;

/** The version of a tombstone: 2^32 − 1, the highest possible. */
export const tombstoneVersion = 4_294_967_295;

/**
 * Encodes a response as one line of JSONCompactEachRow, in the column order of the `responses` table. This happens once, at
 * acceptance; the ingest only joins lines. Trailing zero codes are omitted (missing columns default to 0).
 */
export function encodeResponse(head: ResponseHead, row: AnswerRow): string {
  return `["${head.surveyId}","${head.responseId}",${head.submittedAtMs},${head.version},0,${head.surveyVersion},${head.isComplete ? 1 : 0},${
    head.completedAtMs
  },${head.durationMs},${quoted(head.language)},${quoted(head.respondent)},${
    isEmpty(head.metadata) ? '{}' : JSON.stringify(head.metadata)
  },${row.numbers.length === 0 ? '[]' : JSON.stringify(row.numbers)},${quotedList(row.texts)}${codeList(row.codes)}]`;
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

/** The row that deletes a response: same key, highest version, no content. */
export function encodeTombstone(surveyId: string, responseId: string, submittedAtMs: number): string {
  return `["${surveyId}","${responseId}",${submittedAtMs},${tombstoneVersion},1,0,0,0,-1,"","",{},[],[]]`;
}

const firstCodeColumn = 14;

const maxTimestampMs = 8.64e15;
const isTimestamp = (value: unknown): boolean =>
  Number.isSafeInteger(value) && Math.abs(Number(value)) <= maxTimestampMs;

/** Decodes a line of `encodeResponse` or `encodeTombstone`. Throws an Error for any other line. */
export function decodeResponse(line: string): { head: ResponseHead; row: AnswerRow; isDeleted: boolean } {
  const cells: unknown = JSON.parse(line);
  if (!Array.isArray(cells) || cells.length < firstCodeColumn) throw new Error('not a response row');
  const [
    surveyId,
    responseId,
    submittedAtMs,
    version,
    isDeleted,
    surveyVersion,
    isComplete,
    completedAtMs,
    durationMs,
    language,
    respondent,
    metadata,
    numbers,
    texts,
  ] = cells;
  if (
    typeof surveyId !== 'string' ||
    typeof responseId !== 'string' ||
    !isTimestamp(submittedAtMs) ||
    !isTimestamp(completedAtMs) ||
    !Number.isSafeInteger(version)
  )
    throw new Error('not a response row');
  return {
    head: {
      surveyId,
      responseId,
      submittedAtMs,
      version,
      surveyVersion,
      isComplete: isComplete === 1,
      completedAtMs,
      durationMs,
      language,
      respondent,
      metadata,
    },
    row: { codes: cells.slice(firstCodeColumn), numbers, texts },
    isDeleted: isDeleted === 1,
  };
}

/**
 * Number of code positions in a line: its top-level items after the fixed columns. Also works for lines that do not parse as JSON.
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
  return Math.max(0, items - firstCodeColumn);
}
