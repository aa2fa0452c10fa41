import type { AnswerRow, GivenAnswer, PlacedAnswer } from '../questions/contract.ts';
import { type CompiledSurvey, initialRow, isWellShaped } from './answers.ts';
import { type BytePattern, bytePattern, matchesAt } from './byte-pattern.ts';
import { type CompiledQuestion, missingMessage, readsWithoutIssues } from './compiled-question.ts';

/** A value as clients write it, up to the closing brace of its answer, and the single code that encodes it. */
interface KnownValue {
  pattern: BytePattern;
  slot: number;
  code: number;
  /** Set if the question takes several answers, which must be read together. */
  answer: GivenAnswer | undefined;
}

interface FastQuestion {
  item: CompiledQuestion;
  style: JsonStyle;
  /** The first bytes of each answer to it. */
  head: BytePattern;
  /** Values that encode to one code, determined when the question is first answered. */
  values: readonly KnownValue[] | undefined;
  takesSeveral: boolean;
}

/**
 * Separators in a client's JSON: without white space, as JavaScript writes, or with a space after each, as Python
 * writes.
 */
export interface JsonStyle {
  comma: string;
  colon: string;
}

/** The bytes of a body and the state of reading them. */
export interface SubmissionBytes {
  bytes: Buffer;
  view: DataView;
  /** Length in bytes. */
  end: number;
  /** Whether the unparsed answers read so far are in the form of `canonicalBody`. */
  isCanonical: boolean;
  /** The answers that had to be parsed. */
  parsed: ParsedAnswer[];
}

interface ParsedAnswer {
  answer: GivenAnswer;
  written: string;
}

const [space, comma, bracket, openBrace, brace] = [0x20, 0x2c, 0x5d, 0x7b, 0x7d];
const notMatched = -1;
/** Maximum known values of one question: comparing with more would take longer than parsing. */
const maxValues = 30;
const smallNumbers = Array.from({ length: 12 }, (_, number) => number);

/**
 * Reads the answers of a complete submission by comparing bytes with the expected ones, if they are in the survey's
 * order and each starts with `questionId`, as most clients write them. Returns the offset after the answers, or
 * `notMatched` (−1) if they are written differently, are invalid or are slow to check: the general path (JSON.parse,
 * `checkAnswers`) then finds the same row or reports the issues.
 */
export function createFastAnswerReader(compiled: CompiledSurvey, style: JsonStyle) {
  let questions: readonly FastQuestion[] | undefined;
  return (text: SubmissionBytes, from: number, row: AnswerRow): number => {
    if (compiled.isSlowToCheck) return notMatched;
    questions ??= compiled.visible.map((item) => fastQuestion(item, style));
    let at = from;
    for (const question of questions) {
      if (matchesAt(question.head, text.view, at, text.end)) {
        at = readQuestion(compiled, question, { text, at }, row);
        if (at === notMatched) return notMatched;
      } else if (question.item.question.isRequired && !compiled.paths) return notMatched;
    }
    return at;
  };
}

function fastQuestion(item: CompiledQuestion, style: JsonStyle): FastQuestion {
  const head = bytePattern(`{"questionId"${style.colon}${JSON.stringify(item.question.id)}${style.comma}`);
  return { item, style, head, values: undefined, takesSeveral: false };
}

interface Position {
  text: SubmissionBytes;
  at: number;
}

/** Reads all answers to a question; returns the offset of the next question's answer. */
function readQuestion(compiled: CompiledSurvey, question: FastQuestion, place: Position, row: AnswerRow): number {
  question.values ??= valuesOf(compiled, question);
  const { text, at } = place;
  const known = question.takesSeveral ? undefined : valueAt(question.values, text, at + question.head.length);
  if (!known) return readOneByOne(question, place, row);
  row.codes[known.slot] = known.code;
  return nextAnswer(text, at + question.head.length + known.pattern.length);
}

function valueAt(values: readonly KnownValue[], { view, end }: SubmissionBytes, at: number): KnownValue | undefined {
  for (const value of values) if (matchesAt(value.pattern, view, at, end)) return value;
  return undefined;
}

/** The offset of the next answer, or the same offset at the end of the list. */
function nextAnswer(text: SubmissionBytes, at: number): number {
  const { bytes } = text;
  if (bytes[at] !== comma) return bytes[at] === bracket ? at : notMatched;
  const isSpaced = bytes[at + 1] === space;
  if (isSpaced) text.isCanonical = false;
  const following = isSpaced ? at + 2 : at + 1;
  return bytes[following] === openBrace ? following : notMatched;
}

/** Reads the answers to a question one by one, as `checkAnswers` does. */
function readOneByOne({ item, head, values = [] }: FastQuestion, { text, at }: Position, row: AnswerRow): number {
  const answers: PlacedAnswer[] = [];
  let from = at;
  do {
    const known = valueAt(values, text, from + head.length);
    const to = known ? from + head.length + known.pattern.length : text.bytes.indexOf(brace, from) + 1;
    const answer = known?.answer ?? parseAnswer(item, text, { from: from + head.length, to });
    if (!answer) return notMatched;
    answers.push({ index: answers.length, answer });
    from = nextAnswer(text, to);
  } while (from !== notMatched && matchesAt(head, text.view, from, text.end));
  return from !== notMatched && isTaken(item, answers, row) ? from : notMatched;
}

/** A `textValue` without JSON escapes. */
const plainText = /^"textValue": ?"([^"\\\u0000-\u001f\ufffd]*)"\}$/;
const textAt = '"textValue":'.length;

/**
 * Parses the rest of an answer after `questionId`. U+FFFD may stand for invalid UTF-8, and `\u` escapes may encode lone
 * surrogates or NUL: both go to the general path.
 */
function parseAnswer(
  { question }: CompiledQuestion,
  body: SubmissionBytes,
  { from, to }: { from: number; to: number },
): GivenAnswer | undefined {
  const text = body.bytes.toString('utf8', from, to);
  const textValue = plainText.exec(text)?.[1];
  if (textValue !== undefined) {
    if (text[textAt] === ' ') body.isCanonical = false;
    return { questionId: question.id, textValue };
  }
  if (text.includes('\ufffd') || text.includes('\\u')) return undefined;
  try {
    const written = `{"questionId":${JSON.stringify(question.id)},${text}`;
    const answer: unknown = JSON.parse(written);
    if (!isWellShaped(answer, 0, []) || answer.questionId !== question.id) return undefined;
    body.parsed.push({ answer, written });
    return answer;
  } catch {
    return undefined;
  }
}

const isTaken = (item: CompiledQuestion, answers: readonly PlacedAnswer[], row: AnswerRow): boolean =>
  readsWithoutIssues(item, answers, row) &&
  !(item.question.isRequired && missingMessage(item, row, true) !== undefined);

/**
 * Reads every option (at most 30) and the numbers 0 to 11 as answers, and returns those that are encoded by exactly one
 * code.
 */
function valuesOf(compiled: CompiledSurvey, question: FastQuestion): KnownValue[] {
  const {
    item,
    style: { colon },
  } = question;
  const { id, options } = item.question;
  const texts = [
    ...options.slice(0, maxValues).map((option) => `"optionId"${colon}${JSON.stringify(option.id)}}`),
    ...smallNumbers.map((number) => `"numberValue"${colon}${number}}`),
  ];
  const values = texts.flatMap((text): KnownValue[] => {
    const answer = JSON.parse(`{"questionId":${JSON.stringify(id)},${text}`) as GivenAnswer;
    const row = initialRow(compiled, undefined);
    if (!isTaken(item, [{ index: 0, answer }], row)) return [];
    // Checks only the question's own positions: checking the whole row would block the event loop for half a second in
    // large surveys.
    const [slot, ...others] = item.codes.filter((at) => row.codes[at] !== 0);
    const isOneCode =
      slot !== undefined &&
      others.length === 0 &&
      item.numbers.every((at) => row.numbers[at] === 0) &&
      item.texts.every((at) => row.texts[at] === '');
    return isOneCode ? [{ pattern: bytePattern(text), slot, code: row.codes[slot] ?? 0, answer }] : [];
  });
  const firstTwo = values
    .slice(0, 2)
    .flatMap(({ answer }, index): PlacedAnswer[] => (answer ? [{ index, answer }] : []));
  question.takesSeveral = firstTwo.length === 2 && isTaken(item, firstTwo, initialRow(compiled, undefined));
  return question.takesSeveral
    ? values
    : values.map(({ pattern, slot, code }) => ({ pattern, slot, code, answer: undefined }));
}
