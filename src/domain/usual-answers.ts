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
  /** How each of its answers begins. */
  head: Comparable;
  /** What it is answered with where there are few values, found out when it is first answered. */
  values: readonly KnownValue[] | undefined;
  takesSeveral: boolean;
}

/** A body that is being read. */
interface Text {
  bytes: Buffer;
  view: DataView;
  /** Where the last answer must end. */
  end: number;
}

const opening = comparable('{"answers":[');
const [comma, bracket, brace] = [0x2c, 0x5d, 0x7d];
const elsewhere = -1;
/** Of one question: looking through many would take longer than parsing. */
const valuesAtMost = 30;
const figures = Array.from({ length: 12 }, (_, figure) => figure);
/** Holds fewer answers than a submission may have. */
const longestBytes = 100_000;

/**
 * A quicker way to the row of a whole submission: reads the bytes of a body that holds nothing but answers, written as nearly all clients
 * write them: without white space, in the survey's order, each with its question first. Undefined where the body is another, or
 * anything is wrong with it: parsing it and `checkAnswers` then find the same row or say what is wrong.
 */
export function createUsualReader(compiled: CompiledSurvey): UsualReader {
  let questions: readonly UsualQuestion[] | undefined;
  return (bytes) => {
    if (bytes.length > longestBytes) return undefined;
    questions ??= compiled.visible.map(usualQuestion);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const text: Text = { bytes, view, end: bytes.length - 2 };
    if (!isAt(opening, view, 0, bytes.length) || bytes[text.end] !== bracket || bytes[text.end + 1] !== brace) return undefined;
    const row = startRow(compiled, undefined);
    let at = opening.length;
    for (const question of questions) {
      if (isAt(question.head, view, at, text.end)) {
        at = readQuestion(compiled, question, { text, at }, row);
        if (at === elsewhere) return undefined;
      } else if (question.item.question.isRequired) return undefined;
    }
    return at === text.end ? row : undefined;
  };
}

function usualQuestion(item: CompiledQuestion): UsualQuestion {
  return { item, head: comparable(`{"questionId":${JSON.stringify(item.question.id)},`), values: undefined, takesSeveral: false };
}

export type UsualReader = (bytes: Buffer) => AnswerRow | undefined;

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

/** Where the answer after one that ends here begins; the end behind the last. */
function next({ bytes, end }: Text, at: number): number {
  if (at === end) return end;
  return bytes[at] === comma && at + 1 < end ? at + 1 : elsewhere;
}

/** As `checkAnswers` reads them, answer by answer. */
function readOneByOne({ item, head, values = [] }: UsualQuestion, { text, at }: Place, row: AnswerRow): number {
  const answers: PlacedAnswer[] = [];
  let from = at;
  do {
    const known = valueAt(values, text, from + head.length);
    const to = known ? from + head.length + known.written.length : text.bytes.indexOf(brace, from) + 1;
    const answer = known?.answer ?? answerIn(item, text.bytes.toString('utf8', from + head.length, to));
    if (!answer) return elsewhere;
    answers.push({ index: answers.length, answer });
    from = next(text, to);
  } while (from !== elsewhere && isAt(head, text.view, from, text.end));
  return from !== elsewhere && isTaken(item, answers, row) ? from : elsewhere;
}

/** A text without anything that JSON writes in another way. */
const plainText = /^"textValue":"([^"\\\u0000-\u001f\ufffd]*)"\}$/;

/** What an answer holds beside its question, up to the first brace. What is no UTF-8 has become U+FFFD, and only by its number could a sign be written that no text may hold. */
function answerIn({ question }: CompiledQuestion, text: string): GivenAnswer | undefined {
  const textValue = plainText.exec(text)?.[1];
  if (textValue !== undefined) return { questionId: question.id, textValue };
  if (text.includes('\ufffd') || text.includes('\\u')) return undefined;
  try {
    const answer: unknown = JSON.parse(`{"questionId":${JSON.stringify(question.id)},${text}`);
    return isWellShaped(answer, 0, []) && answer.questionId === question.id ? answer : undefined;
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
  const { item } = question;
  const { id, options } = item.question;
  const texts = [...options.slice(0, valuesAtMost).map((option) => `"optionId":${JSON.stringify(option.id)}}`), ...figures.map((figure) => `"numberValue":${figure}}`)];
  const values = texts.flatMap((text): KnownValue[] => {
    const answer = JSON.parse(`{"questionId":${JSON.stringify(id)},${text}`) as GivenAnswer;
    const row = startRow(compiled, undefined);
    if (!isTaken(item, [{ index: 0, answer }], row)) return [];
    const [slot, ...others] = row.codes.flatMap((code, index) => (code === 0 ? [] : [index]));
    const isOneCode = slot !== undefined && others.length === 0 && row.numbers.every((number) => number === 0) && row.texts.every((one) => one === '');
    return isOneCode ? [{ written: comparable(text), slot, code: row.codes[slot] ?? 0, answer }] : [];
  });
  const two = values.slice(0, 2).flatMap(({ answer }, index): PlacedAnswer[] => (answer ? [{ index, answer }] : []));
  question.takesSeveral = two.length === 2 && isTaken(item, two, startRow(compiled, undefined));
  return question.takesSeveral ? values : values.map(({ written, slot, code }) => ({ written, slot, code, answer: undefined }));
}
