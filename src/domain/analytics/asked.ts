import { notAskedPlace, wholeQuestion } from '../not-asked.ts';
import { oncePerObject } from '../once-per-object.ts';
import type { Outcome } from '../outcome.ts';
import {
  type AnswerRow,
  type Category,
  type CodeBit,
  type CountRequest,
  type Dimension,
  skippedCode,
  skippedValue,
} from '../questions/contract.ts';
import { registry } from '../questions/registry.ts';
import type { Question, SurveyWithQuestions, VersionSpan } from '../survey.ts';

/**
 * The base of a question: each question of a stored response (each row, for a MATRIX) is answered, skipped or not asked.
 * An unanswered question is not asked if its bit says so (`notAsked` of the question), or if the response is one to a
 * version before the question's first, or to one that does not have it any more. In PARTIAL responses to versions before
 * `partialsMarkedFrom` of the survey, what comes after the last answered question in the designed order was not asked
 * either. Otherwise it was skipped; so is every unanswered question of complete responses that were stored before the
 * survey had bits. Removed questions count where they were: who answered one has passed those before it.
 */

/** What a stored response says of a question or of a row. Texts of the API. */
export type AnswerStatus = 'ANSWERED' | 'SKIPPED' | 'NOT_ASKED';

/** Which responses the percentages of a question refer to: those that answer it, or all that it was asked in. */
export const bases = ['answered', 'asked'] as const;
export type Base = (typeof bases)[number];

/** Where a stored response says whether something was answered, and whether it was not asked. */
export interface AskedPart {
  /** Answered where any of these codes is not 0. */
  slots: readonly number[];
  /** Not asked where any of these bits is set; of a row also the bit of its question. */
  notAsked: readonly CodeBit[];
  /** Not asked in responses to these versions of the survey; of a row also those of its question. */
  absentIn?: readonly VersionSpan[];
}

export interface AskedQuestion extends AskedPart {
  questionId: string;
  /** The rows of a MATRIX, by value. */
  rows: readonly (AskedPart & { id: string; value: string })[];
}

export interface AskedSurvey {
  /** The questions in their designed order, removed ones where they were, or those from one of them on. */
  questions: readonly AskedQuestion[];
  /** `partialsMarkedFrom` of the survey. */
  markedFrom: number | undefined;
}

type Questions = Pick<SurveyWithQuestions, 'questions' | 'partialsMarkedFrom'>;

/** Gives what the statuses of a survey's responses follow from. Cached by survey object. */
export const askedSurvey = oncePerObject(
  ({ questions, partialsMarkedFrom }: Questions): AskedSurvey => ({
    questions: withRemoved(questions).map(askedQuestion),
    markedFrom: partialsMarkedFrom,
  }),
);

/** The visible questions in order, each removed one at the place that it had when it was removed. */
function withRemoved(questions: readonly Question[]): Question[] {
  const placed = questions.filter(({ isHidden }) => !isHidden);
  const removed = questions.filter(({ isHidden }) => isHidden);
  // The places are those before the removal, so the last removal is undone first.
  for (const question of removed.toSorted((one, other) => removedIn(other) - removedIn(one)))
    placed.splice(question.order, 0, question);
  return placed;
}

const removedIn = ({ absentIn = [] }: Question): number => absentIn.at(-1)?.from ?? 0;

function askedQuestion(question: Question): AskedQuestion {
  const { base, requests } = registry[question.type].countPlan(question);
  const ofQuestion = bitsOf(question, wholeQuestion);
  return {
    questionId: question.id,
    slots: base,
    notAsked: ofQuestion,
    ...absencesOf(question),
    rows: question.rows.map((row, index) => ({
      id: row.id,
      value: row.value,
      slots: slotsOf(requests[index]),
      notAsked: [...ofQuestion, ...bitsOf(question, row.id)],
      ...absencesOf(question, row),
    })),
  };
}

/** The positions that the answers of a row are counted at. */
function slotsOf(request: CountRequest | undefined): readonly number[] {
  if (request?.kind === 'bits') return request.slots;
  return request?.kind === 'codes' ? [request.slot] : [];
}

/** The versions that do not have one of these, where there are any. */
function absencesOf(...items: Pick<Question, 'firstVersion' | 'absentIn' | 'isHidden'>[]): Pick<AskedPart, 'absentIn'> {
  const spans = items.flatMap(({ firstVersion, absentIn = [], isHidden }): VersionSpan[] => [
    ...(firstVersion === undefined ? [] : [{ from: 0, to: firstVersion }]),
    // A service of a former version does not note that it gives something again.
    ...absentIn.filter(({ to }) => isHidden || to !== undefined),
  ]);
  return spans.length === 0 ? {} : { absentIn: spans };
}

const isAbsent = ({ absentIn = [] }: AskedPart, version: number): boolean =>
  absentIn.some(({ from, to = Number.POSITIVE_INFINITY }) => from <= version && version < to);

function bitsOf({ notAsked }: Question, key: string): CodeBit[] {
  const bit = notAsked?.[key];
  if (bit === undefined) return [];
  const { position, mask } = notAskedPlace(bit);
  return [{ slot: position, mask }];
}

/**
 * The variable of a question, or of its row of that id or value, with a further category: responses that skipped it.
 */
export function withSkipped(survey: Questions, dimension: Dimension, questionId: string, row?: string): Dimension {
  const { questions, markedFrom } = askedSurvey(survey);
  const place = questions.findIndex((question) => question.questionId === questionId);
  const question = questions[place];
  if (!question) return dimension;
  const part = question.rows.find(({ id, value }) => id === row || value === row) ?? question;
  return {
    ...dimension,
    categories: [
      ...dimension.categories,
      { code: skippedCode, value: skippedValueBeside(dimension.categories), text: 'Skipped' },
    ],
    skipped: {
      slots: part.slots,
      notAsked: part.notAsked,
      ...(part.absentIn && { absentIn: part.absentIn }),
      later: questions.slice(place).flatMap(({ slots }) => slots),
      ...(markedFrom !== undefined && { markedFrom }),
    },
  };
}

/** Options may have the usual value since before it was reserved: more underscores then tell the two apart. */
function skippedValueBeside(categories: readonly Category[]): string {
  const taken = new Set(categories.map(({ value }) => value));
  let value = skippedValue;
  while (taken.has(value)) value = `_${value}_`;
  return value;
}

/** All code positions that tell the status of these questions. */
export const askedSlots = (asked: readonly AskedQuestion[]): number[] =>
  asked.flatMap((question) =>
    [question, ...question.rows].flatMap(({ slots, notAsked }) => [...slots, ...notAsked.map(({ slot }) => slot)]),
  );

const isAnswered = ({ slots }: AskedPart, codes: readonly number[]): boolean => slots.some((slot) => codes[slot]);
const hasBit = ({ notAsked }: AskedPart, codes: readonly number[]): boolean =>
  notAsked.some(({ slot, mask }) => ((codes[slot] ?? 0) & mask) !== 0);

/** The parts of a stored response that its statuses follow from. */
export interface StoredResponse {
  row: Pick<AnswerRow, 'codes'>;
  outcome: Outcome;
  surveyVersion: number;
}

/** The statuses of one stored response. */
export interface StoredStatuses {
  of(questionId: string): AnswerStatus;
  ofRow(questionId: string, rowId: string): AnswerStatus;
}

/** Reads the statuses of stored responses, for questions and rows of the survey. */
export function createStatusReader({ questions, markedFrom = Number.POSITIVE_INFINITY }: AskedSurvey) {
  const places = new Map(questions.map((question, place) => [question.questionId, { question, place }]));
  return ({ row: { codes }, outcome, surveyVersion }: StoredResponse): StoredStatuses => {
    let last: number | undefined;
    const lastAnswered = (): number =>
      (last ??=
        outcome === 'PARTIAL' && surveyVersion < markedFrom
          ? questions.findLastIndex((question) => isAnswered(question, codes))
          : questions.length);
    const statusOf = (part: AskedPart, place: number): AnswerStatus => {
      if (isAnswered(part, codes)) return 'ANSWERED';
      const isMarked = hasBit(part, codes) || isAbsent(part, surveyVersion);
      return isMarked || place > lastAnswered() ? 'NOT_ASKED' : 'SKIPPED';
    };
    return {
      of(questionId) {
        const found = places.get(questionId);
        return found ? statusOf(found.question, found.place) : 'SKIPPED';
      },
      ofRow(questionId, rowId) {
        const found = places.get(questionId);
        const row = found?.question.rows.find(({ id }) => id === rowId);
        return found && row ? statusOf(row, found.place) : 'SKIPPED';
      },
    };
  };
}
