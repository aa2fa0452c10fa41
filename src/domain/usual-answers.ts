import { isWellShaped, missingMessage, startRow, type CompiledQuestion, type CompiledSurvey } from './answers.ts';
import { comparable, isAt, type Comparable } from './comparable.ts';
import type { AnswerRow, GivenAnswer, PlacedAnswer, ReadContext } from './questions/contract.ts';

/** A value as clients write it, up to the end of its answer, and the one code that it comes to. */
interface KnownValue {
  written: Comparable;
  slot: number;
  code: number;
  /** Kept where there may be several: then they are looked at together. */
  answer: GivenAnswer | undefined;
}

interface UsualQuestion {
  item: CompiledQuestion;
  writing: Writing;
  /** How each of its answers begins. */
  head: Comparable;
  /** What it is answered with where there are few values, found out when it is first answered. */
  values: readonly KnownValue[] | undefined;
  takesSeveral: boolean;
}

/** How a client writes JSON: most without white space, as JavaScript does; others with a space behind each comma and colon, as Python does. */
export interface Writing {
  comma: string;
  colon: string;
}

/** A body that is being read. */
export interface Text {
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
const elsewhere = -1;
/** Of one question: looking through many would take longer than parsing. */
const valuesAtMost = 30;
const figures = Array.from({ length: 12 }, (_, figure) => figure);

/**
 * A quicker way to the row of a whole submission: compares the bytes of its answers with what they are where they are written as nearly all
 * clients write them: in the survey's order, each with its question first. Gives where they end; `elsewhere` where they are written otherwise,
 * or anything is wrong with them: parsing them and `checkAnswers` then find the same row or say what is wrong.
 */
export function createUsualAnswers(compiled: CompiledSurvey, writing: Writing) {
  let questions: readonly UsualQuestion[] | undefined;
  return (text: Text, from: number, row: AnswerRow): number => {
    questions ??= compiled.visible.map((item) => usualQuestion(item, writing));
    let at = from;
    for (const question of questions) {
      if (isAt(question.head, text.view, at, text.end)) {
        at = readQuestion(compiled, question, { text, at }, row);
        if (at === elsewhere) return elsewhere;
      } else if (question.item.question.isRequired) return elsewhere;
    }
    return at;
  };
}

function usualQuestion(item: CompiledQuestion, writing: Writing): UsualQuestion {
  const head = comparable(`{"questionId"${writing.colon}${JSON.stringify(item.question.id)}${writing.comma}`);
  return { item, writing, head, values: undefined, takesSeveral: false };
}

interface Place {
  text: Text;
  at: number;
}

/** Reads all answers to a question; gives where the next begins. */
function readQuestion(compiled: CompiledSurvey, question: UsualQuestion, place: Place, row: AnswerRow): number {
  question.values ??= valuesOf(compiled, question);
  const { text, at } = place;
  const known = question.takesSeveral ? undefined : valueAt(question.values, text, at + question.head.length);
  if (!known) return readOneByOne(question, place, row);
  row.codes[known.slot] = known.code;
  return next(text, at + question.head.length + known.written.length);
}

function valueAt(values: readonly KnownValue[], { view, end }: Text, at: number): KnownValue | undefined {
  for (const value of values) if (isAt(value.written, view, at, end)) return value;
  return undefined;
}

/** Where the answer after one that ends here begins; here where the list ends. */
function next(text: Text, at: number): number {
  const { bytes } = text;
  if (bytes[at] !== comma) return bytes[at] === bracket ? at : elsewhere;
  const isSpaced = bytes[at + 1] === space;
  if (isSpaced) text.isCanonical = false;
  const following = isSpaced ? at + 2 : at + 1;
  return bytes[following] === openBrace ? following : elsewhere;
}

/** As `checkAnswers` reads them, answer by answer. */
function readOneByOne({ item, head, values = [] }: UsualQuestion, { text, at }: Place, row: AnswerRow): number {
  const answers: PlacedAnswer[] = [];
  let from = at;
  do {
    const known = valueAt(values, text, from + head.length);
    const to = known ? from + head.length + known.written.length : text.bytes.indexOf(brace, from) + 1;
    const answer = known?.answer ?? answerIn(item, text, { from: from + head.length, to });
    if (!answer) return elsewhere;
    answers.push({ index: answers.length, answer });
    from = next(text, to);
  } while (from !== elsewhere && isAt(head, text.view, from, text.end));
  return from !== elsewhere && isTaken(item, answers, row) ? from : elsewhere;
}

/** A text without anything that JSON writes in another way. */
const plainText = /^"textValue": ?"([^"\\\u0000-\u001f\ufffd]*)"\}$/;
const textAt = '"textValue":'.length;

/** What an answer holds beside its question, up to the first brace. What is no UTF-8 has become U+FFFD, and only by its number could a sign be written that no text may hold. */
function answerIn({ question }: CompiledQuestion, body: Text, { from, to }: { from: number; to: number }): GivenAnswer | undefined {
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

function isTaken(item: CompiledQuestion, answers: readonly PlacedAnswer[], row: AnswerRow): boolean {
  let isFine = true;
  const context: ReadContext = { uploads: noUploads, report: () => (isFine = false) };
  item.type.read(item.question, answers, row, context);
  return isFine && !(item.question.isRequired && missingMessage(item, row, true) !== undefined);
}

const noUploads: ReadContext['uploads'] = new Map();

/** Tries every option and the first figures: those count that come to one code and nothing else. */
function valuesOf(compiled: CompiledSurvey, question: UsualQuestion): KnownValue[] {
  const { item, writing: { colon } } = question;
  const { id, options } = item.question;
  const texts = [...options.slice(0, valuesAtMost).map((option) => `"optionId"${colon}${JSON.stringify(option.id)}}`), ...figures.map((figure) => `"numberValue"${colon}${figure}}`)];
  const values = texts.flatMap((text): KnownValue[] => {
    const answer = JSON.parse(`{"questionId":${JSON.stringify(id)},${text}`) as GivenAnswer;
    const row = startRow(compiled, undefined);
    if (!isTaken(item, [{ index: 0, answer }], row)) return [];
    // Only its own positions: to look at all of a large survey takes half a second for its questions together, in which nobody else is served.
    const [slot, ...others] = item.codes.filter((at) => row.codes[at] !== 0);
    const isOneCode = slot !== undefined && others.length === 0 && item.numbers.every((at) => row.numbers[at] === 0) && item.texts.every((at) => row.texts[at] === '');
    return isOneCode ? [{ written: comparable(text), slot, code: row.codes[slot] ?? 0, answer }] : [];
  });
  const two = values.slice(0, 2).flatMap(({ answer }, index): PlacedAnswer[] => (answer ? [{ index, answer }] : []));
  question.takesSeveral = two.length === 2 && isTaken(item, two, startRow(compiled, undefined));
  return question.takesSeveral ? values : values.map(({ written, slot, code }) => ({ written, slot, code, answer: undefined }));
}
