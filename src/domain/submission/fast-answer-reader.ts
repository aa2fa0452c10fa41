import type { AnswerRow, GivenAnswer, PlacedAnswer, ReadContext } from '../questions/contract.ts';
import { type CompiledQuestion, type CompiledSurvey, initialRow, isWellShaped, missingMessage } from './answers.ts';
import { type BytePattern, bytePattern, matchesAt } from './byte-pattern.ts';

/** A value as clients write it, up to the end of its answer, and the one code that it comes to. */
interface KnownValue {
  pattern: BytePattern;
  slot: number;
  code: number;
  /** Kept where there may be several: then they are looked at together. */
  answer: GivenAnswer | undefined;
}

interface FastQuestion {
  item: CompiledQuestion;
  style: JsonStyle;
  /** How each of its answers begins. */
  head: BytePattern;
  /** What it is answered with where there are few values, found out when it is first answered. */
  values: readonly KnownValue[] | undefined;
  takesSeveral: boolean;
}

/** How a client writes JSON: most without white space, as JavaScript does; others with a space behind each comma and colon, as Python does. */
export interface JsonStyle {
  comma: string;
  colon: string;
}

/** A body that is being read. */
export interface SubmissionBytes {
  bytes: Buffer;
  view: DataView;
  /** How long it is. */
  end: number;
  /** What has been read of the answers is written as `canonicalBody` writes it, as far as it was not parsed. */
  isCanonical: boolean;
  /** Those of the answers that were parsed. */
  parsed: ParsedAnswer[];
}

interface ParsedAnswer {
  answer: GivenAnswer;
  written: string;
}

const [space, comma, bracket, openBrace, brace] = [0x20, 0x2c, 0x5d, 0x7b, 0x7d];
const notMatched = -1;
/** Of one question: looking through many would take longer than parsing. */
const maxValues = 30;
const smallNumbers = Array.from({ length: 12 }, (_, number) => number);

/**
 * A quicker way to the row of a whole submission: compares the bytes of its answers with what they are where they are written as nearly all
 * clients write them: in the survey's order, each with its question first. Gives where they end; `elsewhere` where they are written otherwise,
 * or anything is wrong with them: parsing them and `checkAnswers` then find the same row or say what is wrong.
 */
export function createFastAnswerReader(compiled: CompiledSurvey, style: JsonStyle) {
  let questions: readonly FastQuestion[] | undefined;
  return (text: SubmissionBytes, from: number, row: AnswerRow): number => {
    questions ??= compiled.visible.map((item) => fastQuestion(item, style));
    let at = from;
    for (const question of questions) {
      if (matchesAt(question.head, text.view, at, text.end)) {
        at = readQuestion(compiled, question, { text, at }, row);
        if (at === notMatched) return notMatched;
      } else if (question.item.question.isRequired) return notMatched;
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

/** Reads all answers to a question; gives where the next begins. */
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

/** Where the answer after one that ends here begins; here where the list ends. */
function nextAnswer(text: SubmissionBytes, at: number): number {
  const { bytes } = text;
  if (bytes[at] !== comma) return bytes[at] === bracket ? at : notMatched;
  const isSpaced = bytes[at + 1] === space;
  if (isSpaced) text.isCanonical = false;
  const following = isSpaced ? at + 2 : at + 1;
  return bytes[following] === openBrace ? following : notMatched;
}

/** As `checkAnswers` reads them, answer by answer. */
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
  return from !== notMatched && readsWithoutIssues(item, answers, row) ? from : notMatched;
}

/** A text without anything that JSON writes in another way. */
const plainText = /^"textValue": ?"([^"\\\u0000-\u001f\ufffd]*)"\}$/;
const textAt = '"textValue":'.length;

/** What an answer holds beside its question, up to the first brace. What is no UTF-8 has become U+FFFD, and only by its number could a sign be written that no text may hold. */
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

function readsWithoutIssues(item: CompiledQuestion, answers: readonly PlacedAnswer[], row: AnswerRow): boolean {
  let isFine = true;
  const context: ReadContext = { uploads: noUploads, report: () => (isFine = false) };
  item.type.read(item.question, answers, row, context);
  return isFine && !(item.question.isRequired && missingMessage(item, row, true) !== undefined);
}

const noUploads: ReadContext['uploads'] = new Map();

/** Tries every option and the first figures: those count that come to one code and nothing else. */
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
    if (!readsWithoutIssues(item, [{ index: 0, answer }], row)) return [];
    // Only its own positions: to look at all of a large survey takes half a second for its questions together, in which nobody else is served.
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
  question.takesSeveral = firstTwo.length === 2 && readsWithoutIssues(item, firstTwo, initialRow(compiled, undefined));
  return question.takesSeveral
    ? values
    : values.map(({ pattern, slot, code }) => ({ pattern, slot, code, answer: undefined }));
}
