import type { AnswerRow } from './questions/contract.ts';

/** Everything of a stored response but its answers. */
export interface ResponseHead {
  surveyId: string;
  responseId: string;
  /** When it was first accepted; never changes. Unix milliseconds. */
  submittedAtMs: number;
  /** Grows with each merge of a partial response; the highest counts. */
  version: number;
  surveyVersion: number;
  isComplete: boolean;
  /** 0: not complete. */
  completedAtMs: number;
  /** −1: not known. */
  durationMs: number;
  language: string;
  respondent: string;
  metadata: Readonly<Record<string, string>>;
}

/** The version of a tombstone: above every other. */
export const tombstoneVersion = 4_294_967_295;

/**
 * A response as one line of JSONCompactEachRow, in the column order of the `responses` table. Encoded once, at acceptance; the ingest
 * only joins lines. Trailing empty code positions are left out (missing columns count as 0).
 */
export function encodeResponse(head: ResponseHead, row: AnswerRow): string {
  return `["${head.surveyId}","${head.responseId}",${head.submittedAtMs},${head.version},0,${head.surveyVersion},${head.isComplete ? 1 : 0},${
    head.completedAtMs
  },${head.durationMs},${quoted(head.language)},${quoted(head.respondent)},${
    isEmpty(head.metadata) ? '{}' : JSON.stringify(head.metadata)
  },${row.numbers.length === 0 ? '[]' : JSON.stringify(row.numbers)},${quotedList(row.texts)}${codeList(row.codes)}]`;
}

/** What JSON writes as it is: ASCII without control characters, quotes and backslashes. */
const plainText = /^[ !#-[\]-~]*$/;
const maxPlainLength = 100;

/** Most texts are short and plain: for those a look takes less time than the serializer. */
function quoted(text: string): string {
  return text.length < maxPlainLength && plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}

function quotedList(texts: readonly string[]): string {
  let list = '';
  for (const text of texts) list += list === '' ? quoted(text) : `,${quoted(text)}`;
  return `[${list}]`;
}

/** Digits are put here and read out at once, in a third of the time that joining numbers takes. */
const draft = Buffer.alloc(4096);
const [commaSign, zeroSign] = [0x2c, 0x30];
/** With the comma. */
const longestCode = 17;

/** Each code with a comma in front, but for the empty ones at the end. */
function codeList(codes: readonly number[]): string {
  let used = codes.length;
  while (used > 0 && codes[used - 1] === 0) used -= 1;
  if (used * longestCode > draft.length) return `,${codes.slice(0, used).join(',')}`;
  let at = 0;
  for (let index = 0; index < used; index += 1) {
    draft[at] = commaSign;
    at = putDigits(codes[index] ?? 0, at + 1);
  }
  return draft.toString('latin1', 0, at);
}

/** Of a whole number from 0; gives where it ends. */
function putDigits(number: number, at: number): number {
  const before = number < 10 ? at : putDigits(Math.floor(number / 10), at);
  draft[before] = zeroSign + (number % 10);
  return before + 1;
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false;
  return true;
}

/** The line that ends a response for good: same key, highest version, no content. */
export function encodeTombstone(surveyId: string, responseId: string, submittedAtMs: number): string {
  return `["${surveyId}","${responseId}",${submittedAtMs},${tombstoneVersion},1,0,0,0,-1,"","",{},[],[]]`;
}

const firstCodeColumn = 14;

const maxTimestampMs = 8.64e15;
const isTimestamp = (value: unknown): boolean =>
  Number.isSafeInteger(value) && Math.abs(Number(value)) <= maxTimestampMs;

/** The reverse of the two above. Throws at a line that is none of theirs. */
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
 * How many code positions a line has, also one that nobody can read as a whole: those of its items that stand behind the fixed ones. Commas in
 * texts and lists do not count.
 */
export function codePositionsOf(line: string): number {
  let [items, depth, isText] = [1, 0, false];
  for (let at = 0; at < line.length; at += 1) {
    const sign = line[at];
    if (sign === '\\') at += 1;
    else if (sign === '"') isText = !isText;
    else if (isText) continue;
    else if (sign === '[' || sign === '{') depth += 1;
    else if (sign === ']' || sign === '}') depth -= 1;
    else if (sign === ',' && depth === 1) items += 1;
  }
  return Math.max(0, items - firstCodeColumn);
}
