import type { Finding } from '../errors.ts';
import type { AnswerRow, GivenAnswer, KnownUpload, PlacedAnswer, QuestionType, ReadContext } from './questions/contract.ts';
import { registry } from './questions/registry.ts';
import type { Question, SurveyWithQuestions } from './survey.ts';

interface CompiledQuestion {
  question: Question;
  type: QuestionType;
  codes: readonly number[];
  numbers: readonly number[];
  texts: readonly number[];
}

/** A survey made ready for checking many submissions. */
export interface CompiledSurvey {
  survey: SurveyWithQuestions;
  /** Visible questions by id. */
  byId: ReadonlyMap<string, CompiledQuestion>;
  required: readonly CompiledQuestion[];
  /** All questions, hidden ones too, in order. */
  all: readonly CompiledQuestion[];
  /** Ids of uploads that a submission's answers name; empty for surveys without such questions. */
  uploadIdsIn(answers: unknown): string[];
}

export interface CheckOptions {
  /** A partial submission may leave required questions out. */
  isComplete: boolean;
  uploads: ReadonlyMap<string, KnownUpload>;
  /** What the response held before: questions answered now are replaced, the others stay. */
  previous?: AnswerRow;
}

export type Checked = { ok: true; row: AnswerRow; answered: string[] } | { ok: false; findings: Finding[] };

const answersAtMost = 5000;
const findingsAtMost = 50;
const answerKeys = new Set(['questionId', 'textValue', 'numberValue', 'optionId', 'rowId', 'rank']);

export function compileSurvey(survey: SurveyWithQuestions): CompiledSurvey {
  const all = survey.questions.map((question): CompiledQuestion => ({
    question,
    type: registry[question.type],
    codes: Object.values(question.slots.codes),
    numbers: Object.values(question.slots.numbers),
    texts: Object.values(question.slots.texts),
  }));
  const visible = all.filter(({ question }) => !question.isHidden);
  const uploads = new Set(visible.filter(({ type }) => type.namesUploads).map(({ question }) => question.id));
  return {
    survey, all,
    byId: new Map(visible.map((item) => [item.question.id, item])),
    required: visible.filter(({ question }) => question.isRequired),
    uploadIdsIn: (answers) => (uploads.size === 0 || !Array.isArray(answers) ? [] : uploadIds(answers, uploads)),
  };
}

function uploadIds(answers: readonly unknown[], questions: ReadonlySet<string>): string[] {
  const found = answers.flatMap((answer) => {
    if (typeof answer !== 'object' || answer === null || !('questionId' in answer) || !('textValue' in answer)) return [];
    const { questionId, textValue } = answer;
    return typeof questionId === 'string' && questions.has(questionId) && typeof textValue === 'string' ? [textValue] : [];
  });
  return [...new Set(found)].slice(0, 500);
}

/**
 * Checks a submission's answers and encodes them; every problem is reported with its path (`answers.3.numberValue`). Written by hand
 * because it runs for every response.
 */
export function checkAnswers(compiled: CompiledSurvey, given: unknown, { isComplete, uploads, previous }: CheckOptions): Checked {
  const findings: Finding[] = [];
  const { groups, misshaped } = groupAnswers(compiled, given, findings);
  const row = startRow(compiled.survey, previous);
  const context: ReadContext = {
    uploads,
    report: (index, field, message) => void (findings.length < findingsAtMost && findings.push({ path: field === '' ? `answers.${index}` : `answers.${index}.${field}`, message })),
  };
  let reported = misshaped;
  for (const [item, answers] of groups) {
    const before = findings.length;
    if (previous) clear(row, item);
    item.type.read(item.question, answers, row, context);
    if (findings.length > before) (reported ??= new Set()).add(item);
  }
  // Past the limit of findings the rest has not been looked at, so nothing can be said to be missing.
  if (isComplete && findings.length < findingsAtMost)
    for (const item of compiled.required) {
      const message = reported?.has(item) ? undefined : missingMessage(item, row);
      if (message !== undefined) findings.push({ path: 'answers', message });
    }
  return findings.length > 0 ? { ok: false, findings } : { ok: true, row, answered: [...groups.keys()].map(({ question }) => question.id) };
}

interface Grouped {
  groups: Map<CompiledQuestion, PlacedAnswer[]>;
  /** Questions with an answer whose shape was reported: they are not also reported as missing. Made when first needed. */
  misshaped?: Set<CompiledQuestion>;
}

function groupAnswers(compiled: CompiledSurvey, given: unknown, findings: Finding[]): Grouped {
  const grouped: Grouped = { groups: new Map() };
  if (!Array.isArray(given)) {
    if (given !== undefined) findings.push({ path: 'answers', message: 'must be an array' });
    return grouped;
  }
  if (given.length > answersAtMost) findings.push({ path: 'answers', message: `must have at most ${answersAtMost} entries` });
  const count = Math.min(given.length, answersAtMost);
  for (let index = 0; index < count && findings.length < findingsAtMost; index += 1) placeAnswer(compiled, { index, answer: given[index] }, grouped, findings);
  return grouped;
}

function placeAnswer(compiled: CompiledSurvey, { index, answer }: { index: number; answer: unknown }, grouped: Grouped, findings: Finding[]): void {
  const isFine = isWellShaped(answer, index, findings);
  const questionId = isFine ? answer.questionId : questionIdOf(answer);
  if (questionId === undefined) return;
  const item = compiled.byId.get(questionId);
  if (!item) findings.push({ path: `answers.${index}.questionId`, message: 'is not a question of this survey' });
  else if (!isFine) (grouped.misshaped ??= new Set()).add(item);
  else {
    const group = grouped.groups.get(item);
    if (group) group.push({ index, answer });
    else grouped.groups.set(item, [{ index, answer }]);
  }
}

/** The question that a misshaped answer names, if it does so properly. */
function questionIdOf(answer: unknown): string | undefined {
  return typeof answer === 'object' && answer !== null && 'questionId' in answer && typeof answer.questionId === 'string' ? answer.questionId : undefined;
}

/** Undefined where nothing is missing. */
function missingMessage(item: CompiledQuestion, row: AnswerRow): string | undefined {
  const lack = isAnswered(row, item) ? item.type.lackOf?.(item.question, row) : '';
  if (lack === undefined) return undefined;
  const { id, text } = item.question;
  return `question ${id} is required${lack === '' ? '' : `, ${lack}`}: ${text.slice(0, 100).toWellFormed()}`;
}

function isWellShaped(answer: unknown, index: number, findings: Finding[]): answer is GivenAnswer {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    findings.push({ path: `answers.${index}`, message: 'must be an object' });
    return false;
  }
  const before = findings.length;
  for (const key of Object.keys(answer)) {
    if (answerKeys.has(key)) continue;
    findings.push({ path: `answers.${index}.${key.slice(0, 100).toWellFormed()}`, message: 'this field is not known' });
    if (findings.length >= findingsAtMost) break;
  }
  const { questionId, textValue, numberValue, optionId, rowId, rank } = answer as Record<string, unknown>;
  if (typeof questionId !== 'string') findings.push({ path: `answers.${index}.questionId`, message: questionId === undefined ? 'is missing' : 'must be a text' });
  if (textValue !== undefined && typeof textValue !== 'string') findings.push({ path: `answers.${index}.textValue`, message: 'must be a text' });
  if (numberValue !== undefined && !isExact(numberValue)) findings.push({ path: `answers.${index}.numberValue`, message: 'must be a number that can be represented exactly' });
  if (optionId !== undefined && typeof optionId !== 'string') findings.push({ path: `answers.${index}.optionId`, message: 'must be a text' });
  if (rowId !== undefined && typeof rowId !== 'string') findings.push({ path: `answers.${index}.rowId`, message: 'must be a text' });
  if (rank !== undefined && !isExact(rank)) findings.push({ path: `answers.${index}.rank`, message: 'must be a whole number' });
  const values = (textValue !== undefined ? 1 : 0) + (numberValue !== undefined ? 1 : 0) + (optionId !== undefined ? 1 : 0);
  if (values !== 1) findings.push({ path: `answers.${index}`, message: 'must have exactly one of textValue, numberValue and optionId' });
  return findings.length === before;
}

/** Finite, and whole numbers within 2^53 − 1. */
function isExact(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

function startRow({ slotCounts }: SurveyWithQuestions, previous: AnswerRow | undefined): AnswerRow {
  if (!previous) return { codes: new Array<number>(slotCounts.codes).fill(0), numbers: new Array<number>(slotCounts.numbers).fill(0), texts: new Array<string>(slotCounts.texts).fill('') };
  const padded = <T>(kept: readonly T[], length: number, blank: T) => Array.from({ length }, (_, index) => kept[index] ?? blank);
  return { codes: padded(previous.codes, slotCounts.codes, 0), numbers: padded(previous.numbers, slotCounts.numbers, 0), texts: padded(previous.texts, slotCounts.texts, '') };
}

function clear(row: AnswerRow, item: CompiledQuestion): void {
  for (const slot of item.codes) row.codes[slot] = 0;
  for (const slot of item.numbers) row.numbers[slot] = 0;
  for (const slot of item.texts) row.texts[slot] = '';
}

function isAnswered(row: AnswerRow, item: CompiledQuestion): boolean {
  return item.codes.some((slot) => (row.codes[slot] ?? 0) !== 0);
}

/** The stored answers in the interface's shape, question by question in the survey's order, hidden questions included. */
export function readAnswers(compiled: CompiledSurvey, row: AnswerRow): GivenAnswer[] {
  return compiled.all.flatMap((item) => {
    if (!isAnswered(row, item)) return [];
    return item.type.write(item.question, row).map((answer) => ({ questionId: item.question.id, ...answer }));
  });
}
