import type { AnswerKind } from './answer-kinds.ts';
import type { QuestionShape, QuestionShapes } from './question-shape.ts';

/** One answer in API shape. What is not of the given types is taken for no answer. */
export interface GivenPathAnswer {
  optionId?: unknown;
  rowId?: unknown;
  rank?: unknown;
  numberValue?: unknown;
  textValue?: unknown;
}

/** Where a path reads the answers. Questions are named by their index in the designed order. */
export interface PathAnswers {
  /** Whether there is an answer. Not asked of questions with items that can be hidden. */
  isAnswered(question: number): boolean;
  /** The answer as conditions read it; undefined without one. Only asked of questions that are named somewhere. */
  answer(question: number): PathAnswer | undefined;
  /** Whether its answer counts where only these items are offered; absent: each does. Asked once of a question. */
  counts?(question: number, offered: OfferedMasks): boolean;
}

/** By option and row of a question: 1 for each that is offered; undefined where all are. */
export interface OfferedMasks {
  options: Uint8Array | undefined;
  rows: Uint8Array | undefined;
}

/** An answer as conditions read it. Options and rows are indexes into those of the question's shape. */
export interface PathAnswer {
  /** Chosen options; of a RANKING in the order of their ranks. Empty for a MATRIX. */
  options: readonly number[];
  /** RANKING: the rank of each of `options`. */
  ranks: readonly number[];
  /** MATRIX: chosen options by row; empty without an answer to the row. */
  rows: readonly (readonly number[])[];
  /** The text of text types, DATE, TIME (with seconds) and the free "other"; '' for others. */
  text: string;
  /** A free "other" text was given. */
  isOther: boolean;
  /** The number; of a LIKERT_SCALE the point; NaN for others. */
  number: number;
}

const none: readonly never[] = [];

const answerOf = (parts: Partial<PathAnswer>): PathAnswer => ({
  options: parts.options ?? none,
  ranks: parts.ranks ?? none,
  rows: parts.rows ?? none,
  text: parts.text ?? '',
  isOther: parts.isOther === true,
  number: parts.number ?? Number.NaN,
});

/** Reads the answers to a question; undefined without an answer that its kind can have. */
export function readAnswer(question: QuestionShape, given: readonly GivenPathAnswer[]): PathAnswer | undefined {
  return given.length === 0 ? undefined : readers[question.kind](question, given);
}

type Reader = (question: QuestionShape, given: readonly GivenPathAnswer[]) => PathAnswer | undefined;

const optionIndex = ({ optionIndexes }: QuestionShape, { optionId }: GivenPathAnswer): number | undefined =>
  typeof optionId === 'string' ? optionIndexes.get(optionId) : undefined;

/** Where a question takes one answer, the first that it can have counts. */
const first =
  (read: (question: QuestionShape, answer: GivenPathAnswer) => PathAnswer | undefined): Reader =>
  (question, given) => {
    for (const answer of given) {
      const found = read(question, answer);
      if (found) return found;
    }
    return undefined;
  };

const textOf = ({ textValue }: GivenPathAnswer): string | undefined =>
  typeof textValue === 'string' && textValue.trim() !== '' ? textValue : undefined;

const text = first((_question, answer) => {
  const given = textOf(answer);
  return given === undefined ? undefined : answerOf({ text: given });
});

const hasNoRank = ({ rank }: GivenPathAnswer): boolean => rank === undefined;

const ascending = (one: number, other: number): number => one - other;

const yesAndNo = ['yes', 'no'];

const readers: Readonly<Record<AnswerKind, Reader>> = {
  choice: first((question, answer) => {
    const index = optionIndex(question, answer);
    if (index !== undefined) return answerOf({ options: [index] });
    const other = textOf(answer);
    return other === undefined ? undefined : answerOf({ text: other, isOther: true });
  }),
  yesNo: first((question, answer) => {
    const named = typeof answer.textValue === 'string' ? yesAndNo.indexOf(answer.textValue) : -1;
    const index = optionIndex(question, answer) ?? (named >= 0 ? named : undefined);
    return index === undefined || index >= question.options.length ? undefined : answerOf({ options: [index] });
  }),
  points: first((question, answer) => {
    const { points } = question;
    const named = typeof answer.numberValue === 'number' ? points.indexOf(answer.numberValue) : -1;
    const index = optionIndex(question, answer) ?? (named >= 0 ? named : undefined);
    return index === undefined ? undefined : answerOf({ options: [index], number: points[index] ?? Number.NaN });
  }),
  choices(question, given) {
    const options: number[] = [];
    for (const answer of given) {
      const index = optionIndex(question, answer);
      if (index !== undefined && !options.includes(index)) options.push(index);
    }
    return options.length === 0 ? undefined : answerOf({ options: options.sort(ascending) });
  },
  grid(question, given) {
    const rows: number[][] = question.rows.map(() => []);
    let isAnswered = false;
    for (const answer of given) {
      const index = optionIndex(question, answer);
      const row = typeof answer.rowId === 'string' ? rows[question.rowIndexes.get(answer.rowId) ?? -1] : undefined;
      if (index === undefined || !row || row.includes(index) || (row.length > 0 && !question.isMultiple)) continue;
      row.push(index);
      isAnswered = true;
    }
    for (const row of rows) if (row.length > 1) row.sort(ascending);
    return isAnswered ? answerOf({ rows }) : undefined;
  },
  ranks(question, given) {
    const isByOrder = given.every(hasNoRank);
    const ranked: { index: number; rank: number }[] = [];
    for (let order = 0; order < given.length; order += 1) {
      const answer = given[order] as GivenPathAnswer;
      const index = optionIndex(question, answer);
      const rank = isByOrder ? order + 1 : answer.rank;
      if (index === undefined || typeof rank !== 'number' || !(rank >= 1)) continue;
      if (!ranked.some((other) => other.index === index)) ranked.push({ index, rank });
    }
    if (ranked.length === 0) return undefined;
    ranked.sort((one, other) => one.rank - other.rank);
    return answerOf({ options: ranked.map(({ index }) => index), ranks: ranked.map(({ rank }) => rank) });
  },
  scale: first((question, { numberValue }) =>
    typeof numberValue === 'number' && Number.isFinite(numberValue)
      ? answerOf({ number: question.pointNear(numberValue) })
      : undefined,
  ),
  number: first((_question, { numberValue }) =>
    typeof numberValue === 'number' && Number.isFinite(numberValue) ? answerOf({ number: numberValue }) : undefined,
  ),
  text,
  date: text,
  time: first((_question, answer) => {
    const given = textOf(answer);
    return given === undefined ? undefined : answerOf({ text: withSeconds(given) });
  }),
  file: text,
};

/** A time of day as HH:MM:SS; other texts as they are. */
export const withSeconds = (time: string): string => (/^\d\d:\d\d$/.test(time) ? `${time}:00` : time);

/** What is left of an answer if only these options and rows are offered; undefined if nothing is. */
export function offeredPart(
  question: QuestionShape,
  answer: PathAnswer,
  offered: OfferedMasks,
): PathAnswer | undefined {
  const { options: optionMask, rows: rowMask } = offered;
  if (question.kind === 'grid') {
    const rows = answer.rows.map((row, index) => {
      if (rowMask && rowMask[index] !== 1) return none;
      return optionMask ? row.filter((option) => optionMask[option] === 1) : row;
    });
    return rows.every((row) => row.length === 0) ? undefined : answerOf({ rows });
  }
  if (!optionMask || answer.options.every((option) => optionMask[option] === 1)) return answer;
  const kept = answer.options.flatMap((option, place) => (optionMask[option] === 1 ? [place] : []));
  if (kept.length === 0) return undefined;
  return answerOf({
    ...answer,
    options: kept.map((place) => answer.options[place] as number),
    ranks: answer.ranks.length === 0 ? none : kept.map((_, place) => place + 1),
  });
}

/** The answers of a list in API shape (`questionId` with a value). Entries that are nothing of the kind are left out. */
export function givenAnswers({ shapes, indexOf }: QuestionShapes, list: readonly unknown[]): PathAnswers {
  const byQuestion = new Map<number, GivenPathAnswer[]>();
  for (const entry of list) {
    if (typeof entry !== 'object' || entry === null) continue;
    const { questionId } = entry as { questionId?: unknown };
    const index = typeof questionId === 'string' ? indexOf.get(questionId) : undefined;
    if (index === undefined) continue;
    const others = byQuestion.get(index);
    if (others) others.push(entry);
    else byQuestion.set(index, [entry]);
  }
  /** Answers that were read; null: none. Many conditions may name a question, and a call may hold many answers to it. */
  const known = new Map<number, PathAnswer | null>();
  const answer = (question: number): PathAnswer | undefined => {
    let read = known.get(question);
    if (read === undefined) {
      read = readAnswer(shapes[question] as QuestionShape, byQuestion.get(question) ?? none) ?? null;
      known.set(question, read);
    }
    return read ?? undefined;
  };
  return { answer, isAnswered: (question) => answer(question) !== undefined };
}
