import type { ValidationIssue } from '../../errors.ts';
import { runAtOnce, runInSlices, type SlicedWork } from '../../platform/slices.ts';
import { type CollectorIndex, indexCollectors } from '../collectors/survey-collectors.ts';
import type { AnswerRow, GivenAnswer, KnownUpload, PlacedAnswer, ReadContext } from '../questions/contract.ts';
import { isExactNumber } from '../questions/numbers.ts';
import { registry } from '../questions/registry.ts';
import type { Question, SlotCounts, SurveyWithQuestions } from '../survey.ts';
import { conditionSteps } from '../survey-paths/condition-steps.ts';
import { compiledPathsOf } from '../survey-paths/path-definition.ts';
import { type CompiledQuestion, clear, isAnswered, missingMessage } from './compiled-question.ts';
import { createNotAskedMarks, type NotAskedMarks, notAskedWords } from './not-asked-marks.ts';
import {
  compileSubmissionPaths,
  type JudgedPath,
  type RespondentContext,
  type SubmissionPaths,
} from './submission-paths.ts';

/** A survey prepared for checking many submissions. */
export interface CompiledSurvey {
  survey: SurveyWithQuestions;
  /** Visible questions by id. */
  byId: ReadonlyMap<string, CompiledQuestion>;
  /** Visible questions in order. */
  visible: readonly CompiledQuestion[];
  required: readonly CompiledQuestion[];
  /** All questions in order, including hidden ones. */
  all: readonly CompiledQuestion[];
  /** A row without answers. */
  emptyRow: AnswerRow;
  /** Code positions of what was not asked; empty if no version so far had anything that needs them. */
  notAskedWords: readonly number[];
  /** Paths and quotas by cell; undefined for surveys without. */
  paths: SubmissionPaths | undefined;
  /** For surveys without paths whose partial responses mark what they were not asked; `paths` does it for others. */
  markNotAsked: NotAskedMarks | undefined;
  collectors: CollectorIndex;
  /** Whether checking a submission may hold the event loop for too long: then `checkAnswersInSlices` must do it. */
  isSlowToCheck: boolean;
  /** Ids of the uploads (at most 500) that a submission's answers name; empty for surveys without upload questions. */
  uploadIdsIn(answers: unknown): string[];
}

export interface CheckOptions {
  /** A partial submission may omit required questions. */
  isComplete: boolean;
  /** Refuses answers off the path instead of leaving them out. */
  isStrict?: boolean;
  /** Decides the order in which a partial response was asked; absent: the designed one. */
  responseId?: string | undefined;
  /** What conditions read beside the answers; needed for surveys with paths. */
  context?: RespondentContext;
  uploads: ReadonlyMap<string, KnownUpload>;
  /** The stored row of a resumed response: questions answered now are replaced, the others stay. */
  previous?: AnswerRow | undefined;
  /** Ids of questions whose answers in `previous` are taken back. */
  cleared?: readonly string[] | undefined;
}

/** `path`: of surveys with paths or quotas by cell. */
export type CheckedAnswers =
  | { ok: true; row: AnswerRow; path?: JudgedPath | undefined }
  | { ok: false; issues: ValidationIssue[] };

const maxAnswers = 5000;
const maxIssues = 50;
/** Steps (see `checkSteps`) that are done without a pause: about 12 ms. */
export const stepsAtOnce = 520_000;
/** Steps that the answers to one survey may take: about a quarter of a second, in slices. */
const maxSurveySteps = 10_000_000;
const answerKeys = new Set(['questionId', 'textValue', 'numberValue', 'optionId', 'rowId', 'rank']);

export function compileSurvey(survey: SurveyWithQuestions): CompiledSurvey {
  let visibleCount = 0;
  const all = survey.questions.map(
    (question): CompiledQuestion => ({
      question,
      type: registry[question.type],
      codes: Object.values(question.slots.codes),
      numbers: Object.values(question.slots.numbers),
      texts: Object.values(question.slots.texts),
      place: question.isHidden ? -1 : visibleCount++,
    }),
  );
  const visible = all.filter(({ question }) => !question.isHidden);
  const words = notAskedWords(survey);
  const paths = compileSubmissionPaths(survey, visible);
  // Former versions ask questions that were removed since.
  const uploads = new Set(all.filter(({ type }) => type.namesUploads).map(({ question }) => question.id));
  return {
    survey,
    all,
    visible,
    emptyRow: emptyRow(survey.slotCounts),
    collectors: indexCollectors(survey),
    byId: new Map(visible.map((item) => [item.question.id, item])),
    required: visible.filter(({ question }) => question.isRequired),
    notAskedWords: words,
    paths,
    markNotAsked:
      paths || words.length === 0 ? undefined : createNotAskedMarks(survey, visible, compiledPathsOf(survey)),
    isSlowToCheck: totalSteps(visible.map(({ question }) => question)) + conditionSteps(survey) > stepsAtOnce,
    uploadIdsIn: (answers) => (uploads.size === 0 || !Array.isArray(answers) ? [] : uploadIds(answers, uploads)),
  };
}

/** How long the answers to a question may take to check. */
export const stepsOf = (question: Question): number => registry[question.type].checkSteps?.(question) ?? 0;
export const totalSteps = (questions: readonly Question[]): number =>
  questions.reduce((sum, question) => sum + stepsOf(question), 0);

/** Issue if checking the answers to all visible questions takes too many steps, else undefined. */
export function checkStepsIssue(steps: number): ValidationIssue | undefined {
  return steps > maxSurveySteps
    ? { path: 'settings.pattern', message: 'the patterns of this survey are too large together' }
    : undefined;
}

function uploadIds(answers: readonly unknown[], questions: ReadonlySet<string>): string[] {
  const found = answers.flatMap((answer) => {
    if (typeof answer !== 'object' || answer === null || !('questionId' in answer) || !('textValue' in answer))
      return [];
    const { questionId, textValue } = answer;
    return typeof questionId === 'string' && questions.has(questionId) && typeof textValue === 'string'
      ? [textValue]
      : [];
  });
  return [...new Set(found)].slice(0, 500);
}

/**
 * Checks a submission's answers and encodes them as a row, or returns up to 50 issues with paths
 * (`answers.3.numberValue`). The path of a missing required question ends in its id. Written by hand instead of with
 * zod because it runs for every response.
 */
export function checkAnswers(compiled: CompiledSurvey, given: unknown, options: CheckOptions): CheckedAnswers {
  const check = beginCheck(compiled, given, options);
  for (const item of check.answered) check.read(item);
  return runAtOnce(check.finish());
}

/** `checkAnswers` with pauses, so that other work goes on beside the check of a survey that `isSlowToCheck`. */
export async function checkAnswersInSlices(
  compiled: CompiledSurvey,
  given: unknown,
  options: CheckOptions,
  pause: () => Promise<void>,
): Promise<CheckedAnswers> {
  const check = beginCheck(compiled, given, options);
  let steps = 0;
  for (const item of check.answered) {
    steps += stepsOf(item.question);
    if (steps > stepsAtOnce) {
      await pause();
      steps = stepsOf(item.question);
    }
    check.read(item);
  }
  return runInSlices(check.finish());
}

function beginCheck(compiled: CompiledSurvey, given: unknown, options: CheckOptions) {
  const {
    isComplete,
    uploads,
    previous,
    cleared = [],
    context: respondent = noContext,
    isStrict = false,
    responseId,
  } = options;
  const issues: ValidationIssue[] = [];
  const { answered, answers, misshaped } = groupAnswers(compiled, given, issues);
  const row = initialRow(compiled, previous);
  for (const [index, id] of cleared.entries()) {
    const item = compiled.byId.get(id);
    if (item) clear(row, item);
    else if (issues.length < maxIssues)
      issues.push({ path: `cleared.${index}`, message: 'is not a question of this survey' });
  }
  const context: ReadContext = {
    uploads,
    leavesTooFew: compiled.paths?.paths.isBranched === true,
    report: (index, field, message) =>
      void (
        issues.length < maxIssues &&
        issues.push({ path: field === '' ? `answers.${index}` : `answers.${index}.${field}`, message })
      ),
  };
  let reported = misshaped;
  return {
    answered,
    read(item: CompiledQuestion): void {
      const before = issues.length;
      if (previous) clear(row, item);
      item.type.read(item.question, answers[item.place] ?? [], row, context);
      if (issues.length > before) {
        reported ??= new Set();
        reported.add(item);
      }
    },
    *finish(): SlicedWork<CheckedAnswers> {
      // At the limit of issues the remaining answers were not read, so missing ones are unknown.
      const isRead = issues.length < maxIssues && Array.isArray(given);
      const judging = { isComplete, isStrict, responseId, context: respondent, answers, reported };
      const path = isRead && compiled.paths ? yield* compiled.paths.judge(row, judging) : undefined;
      if (isRead && !isComplete) compiled.markNotAsked?.(row, { walk: undefined, isComplete, responseId });
      if (path) issues.push(...path.issues);
      else if (isComplete && isRead)
        for (const item of compiled.required) {
          const message = reported?.has(item)
            ? undefined
            : missingMessage(item, row, answers[item.place] !== undefined);
          if (message !== undefined)
            issues.push({ path: `answers.${answers[item.place]?.[0]?.index ?? item.question.id}`, message });
        }
      return issues.length > 0 ? { ok: false, issues } : { ok: true, row, path };
    },
  };
}

const noContext: RespondentContext = { language: '', metadata: {} };

interface GroupedAnswers {
  /** The questions in the order of their first answers. */
  answered: CompiledQuestion[];
  /** The answers by the question's `place`. */
  answers: (PlacedAnswer[] | undefined)[];
  /**
   * Questions with an answer whose shape was reported: they are not also reported as missing. Created when first
   * needed.
   */
  misshaped: Set<CompiledQuestion> | undefined;
}

function groupAnswers(compiled: CompiledSurvey, given: unknown, issues: ValidationIssue[]): GroupedAnswers {
  const grouped: GroupedAnswers = { answered: [], answers: [], misshaped: undefined };
  if (!Array.isArray(given)) {
    if (given !== undefined) issues.push({ path: 'answers', message: 'must be an array' });
    return grouped;
  }
  if (given.length > maxAnswers) issues.push({ path: 'answers', message: `must have at most ${maxAnswers} entries` });
  const count = Math.min(given.length, maxAnswers);
  for (let index = 0; index < count && issues.length < maxIssues; index += 1)
    groupAnswer(compiled, { index, answer: given[index] }, grouped, issues);
  return grouped;
}

function groupAnswer(
  compiled: CompiledSurvey,
  { index, answer }: { index: number; answer: unknown },
  grouped: GroupedAnswers,
  issues: ValidationIssue[],
): void {
  const isFine = isPlain(answer) || isWellShaped(answer, index, issues);
  const questionId = isFine ? answer.questionId : questionIdOf(answer);
  if (questionId === undefined) return;
  const item = itemOf(compiled, questionId, grouped.answered);
  if (!item) issues.push({ path: `answers.${index}.questionId`, message: 'is not a question of this survey' });
  else if (!isFine) {
    grouped.misshaped ??= new Set();
    grouped.misshaped.add(item);
  } else {
    const answers = grouped.answers[item.place];
    if (answers) answers.push({ index, answer });
    else {
      grouped.answers[item.place] = [{ index, answer }];
      grouped.answered.push(item);
    }
  }
}

/**
 * The question of an answer. Answers usually follow the survey's order, and comparing two ids is faster than a map
 * lookup.
 */
function itemOf(
  { visible, byId }: CompiledSurvey,
  questionId: string,
  answered: readonly CompiledQuestion[],
): CompiledQuestion | undefined {
  const last = answered.at(-1);
  const next = visible[last ? last.place + 1 : 0];
  if (next?.question.id === questionId) return next;
  return last?.question.id === questionId ? last : byId.get(questionId);
}

/** The `questionId` of a misshaped answer, if it is a string. */
function questionIdOf(answer: unknown): string | undefined {
  return typeof answer === 'object' &&
    answer !== null &&
    'questionId' in answer &&
    typeof answer.questionId === 'string'
    ? answer.questionId
    : undefined;
}

/** Fast check for the most common shape of an answer: `questionId` and one value, nothing else. */
function isPlain(answer: unknown): answer is GivenAnswer {
  if (typeof answer !== 'object' || answer === null) return false;
  const { questionId, textValue, numberValue, optionId } = answer as Record<string, unknown>;
  if (
    typeof questionId !== 'string' ||
    !(typeof optionId === 'string' || typeof textValue === 'string' || isExactNumber(numberValue))
  )
    return false;
  let fields = 0;
  for (const _ in answer) fields += 1;
  return fields === 2;
}

/** Checks the shape of an answer and reports every issue; `index` is its place in the submission. */
export function isWellShaped(answer: unknown, index: number, issues: ValidationIssue[]): answer is GivenAnswer {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    issues.push({ path: `answers.${index}`, message: 'must be an object' });
    return false;
  }
  const before = issues.length;
  for (const key of Object.keys(answer)) {
    if (answerKeys.has(key)) continue;
    issues.push({ path: `answers.${index}.${key.slice(0, 100).toWellFormed()}`, message: 'this field is not known' });
    if (issues.length >= maxIssues) break;
  }
  const { questionId, textValue, numberValue, optionId, rowId, rank } = answer as Record<string, unknown>;
  if (typeof questionId !== 'string')
    issues.push({
      path: `answers.${index}.questionId`,
      message: questionId === undefined ? 'is missing' : 'must be a text',
    });
  if (textValue !== undefined && typeof textValue !== 'string')
    issues.push({ path: `answers.${index}.textValue`, message: 'must be a text' });
  if (numberValue !== undefined && !isExactNumber(numberValue))
    issues.push({
      path: `answers.${index}.numberValue`,
      message:
        typeof numberValue === 'number' ? 'must be a number that can be represented exactly' : 'must be a number',
    });
  if (optionId !== undefined && typeof optionId !== 'string')
    issues.push({ path: `answers.${index}.optionId`, message: 'must be a text' });
  if (rowId !== undefined && typeof rowId !== 'string')
    issues.push({ path: `answers.${index}.rowId`, message: 'must be a text' });
  if (rank !== undefined && !isExactNumber(rank))
    issues.push({ path: `answers.${index}.rank`, message: 'must be a whole number' });
  const values =
    (textValue !== undefined ? 1 : 0) + (numberValue !== undefined ? 1 : 0) + (optionId !== undefined ? 1 : 0);
  if (values !== 1)
    issues.push({ path: `answers.${index}`, message: 'must have exactly one of textValue, numberValue and optionId' });
  return issues.length === before;
}

function emptyRow({ codes, numbers, texts }: SlotCounts): AnswerRow {
  const fill = <T>(length: number, blank: T) => Array.from({ length }, () => blank);
  return { codes: fill(codes, 0), numbers: fill(numbers, 0), texts: fill(texts, '') };
}

export function initialRow(
  { emptyRow, survey, notAskedWords }: CompiledSurvey,
  previous: AnswerRow | undefined,
): AnswerRow {
  // Copying an array is faster than filling one.
  if (!previous)
    return { codes: emptyRow.codes.slice(), numbers: emptyRow.numbers.slice(), texts: emptyRow.texts.slice() };
  const { slotCounts } = survey;
  const padded = <T>(saved: readonly T[], length: number, empty: T) =>
    Array.from({ length }, (_, index) => saved[index] ?? empty);
  const codes = padded(previous.codes, slotCounts.codes, 0);
  // What an earlier save was not asked is found anew with paths, and holds no longer without.
  for (const word of notAskedWords) codes[word] = 0;
  return {
    codes,
    numbers: padded(previous.numbers, slotCounts.numbers, 0),
    texts: padded(previous.texts, slotCounts.texts, ''),
  };
}

/** The stored answers in API shape, in the survey's order, including those to hidden questions. */
export function readAnswers(compiled: CompiledSurvey, row: AnswerRow): GivenAnswer[] {
  return compiled.all.flatMap((item) => {
    if (!isAnswered(row, item)) return [];
    return item.type.write(item.question, row).map((answer) => ({ questionId: item.question.id, ...answer }));
  });
}
