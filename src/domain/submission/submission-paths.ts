import type { ValidationIssue } from '../../errors.ts';
import type { SlicedWork } from '../../platform/slices.ts';
import { hasPathFeatures } from '../not-asked.ts';
import type { OfferedMasks } from '../path/answers.ts';
import { indexConditions } from '../path/condition-index.ts';
import { invitationPrefix, type PathDefinition } from '../path/definition.ts';
import { type CompiledPaths, compilePaths, slicedWalk, type Walk } from '../path/path.ts';
import type { AnswerRow, GivenAnswer, PlacedAnswer, ReadAnswer } from '../questions/contract.ts';
import { activeQuotas, type CellQuota } from '../quotas/cell-quota.ts';
import { type SurveyWithQuestions, visibleRows } from '../survey.ts';
import { hasRemovedItems, pathDefinitionOf, storedDefinitionOf } from '../survey-paths/path-definition.ts';
import { type CompiledQuestion, clear, isAnswered, missingMessage } from './compiled-question.ts';
import { createNotAskedMarks } from './not-asked-marks.ts';
import { fieldNotOffered, tooFewOffered } from './offered-items.ts';
import { createRowPathAnswers } from './row-path-answers.ts';

/** What came with a respondent, as conditions read it. */
export interface RespondentContext {
  language: string;
  /** Of the response; those of the invitation begin with `invitationPrefix`. */
  metadata: Readonly<Record<string, string>>;
  /** Metadata of an invitation that is not stored with the response: that of an anonymous survey. */
  invitation?: Readonly<Record<string, string>>;
}

/** What the path makes of a submission. */
export interface JudgedPath {
  issues: ValidationIssue[];
  /** Questions off the path whose answers are not stored. */
  ignored: string[];
  isScreenedOut: boolean;
  /** Codes of the quotas by cell that the response counts for; none where its answers screen out. */
  cells: number[];
}

export interface JudgeOptions {
  isComplete: boolean;
  /** Refuses answers off the path instead of leaving them out. */
  isStrict: boolean;
  /** Decides the order in which a partial response was asked; absent: the designed one. */
  responseId?: string | undefined;
  context: RespondentContext;
  /**
   * The answers of this submission by the question's `place`; those of earlier saves are only in the row. Undefined: all
   * are of this submission, and an issue need not say which one it is about.
   */
  answers: readonly (readonly PlacedAnswer[] | undefined)[] | undefined;
  /** Questions whose answers were refused already. */
  reported?: ReadonlySet<CompiledQuestion> | undefined;
}

/**
 * Prepares the paths and quotas by cell of a survey; undefined where every respondent is asked everything and nothing is
 * counted by cell.
 */
export function compileSubmissionPaths(survey: SurveyWithQuestions, visible: readonly CompiledQuestion[]) {
  const quotas = activeQuotas(survey.quotas);
  if (quotas.length === 0 && !hasPathFeatures(survey)) return undefined;
  const paths = compilePaths(pathDefinitionOf(survey));
  const started = quotas.filter(({ counts }) => counts === 'STARTED');
  const markNotAsked = createNotAskedMarks(survey, visible, paths);
  const answersIn = createRowPathAnswers(survey, paths);
  // An option that a response has stays counted when it is removed.
  const countsRemoved = quotas.length > 0 && hasRemovedItems(survey);
  const stored = countsRemoved ? compilePaths(storedDefinitionOf(survey)) : paths;
  const storedAnswersIn = countsRemoved ? createRowPathAnswers(survey, stored) : answersIn;
  const unbranched =
    stored.isBranched && quotas.length > 0 ? compilePaths(withoutRules(storedDefinitionOf(survey))) : stored;
  const cellsIn = compileCells(quotas, stored);
  const startedCellsIn = started.length > 0 ? compileCells(started, stored) : undefined;
  const pathContext = ({ language, metadata, invitation }: RespondentContext) => ({
    language,
    surveyLanguage: survey.language,
    metadata,
    invitation: invitation ?? invitationOf(metadata),
  });
  const walk = (row: AnswerRow, context: RespondentContext): SlicedWork<Walk> =>
    slicedWalk(paths, answersIn(row), pathContext(context));
  /** The walk by what is stored of an open response. */
  const storedWalk = (row: AnswerRow, context: RespondentContext): SlicedWork<Walk> =>
    slicedWalk(stored, storedAnswersIn(row), pathContext(context));
  /** The same of a completed one. All its answers were on its path, which the survey may have changed since. */
  const completedWalk = (row: AnswerRow, context: RespondentContext): SlicedWork<Walk> =>
    slicedWalk(unbranched, storedAnswersIn(row), pathContext(context));
  /** A response counts by what is stored of it, since it is counted again by that. */
  function* cellsOf(walked: Walk, row: AnswerRow, { isComplete, context }: JudgeOptions): SlicedWork<number[]> {
    if (quotas.length === 0 || (isComplete && walked.isScreenedOut)) return [];
    const { invitation, ...kept } = context;
    if (!countsRemoved && !invitation) return walked.isScreenedOut ? [] : yield* cellsIn(walked);
    if (isComplete) return yield* cellsIn(yield* completedWalk(row, kept));
    const counted = yield* storedWalk(row, kept);
    return counted.isScreenedOut ? [] : yield* cellsIn(counted);
  }
  return {
    paths,
    /** Whether any quota by cell counts started responses. */
    countsStarted: started.length > 0,
    /** Judges the answers of a row, and leaves in it what is stored. */
    *judge(row: AnswerRow, options: JudgeOptions): SlicedWork<JudgedPath> {
      const walked = yield* walk(row, options.context);
      const judged: JudgedPath = { issues: [], ignored: [], isScreenedOut: false, cells: [] };
      const judging = { ...options, isBranched: paths.isBranched };
      if (paths.isBranched || visible.some(({ question }) => question.isRequired))
        for (const item of visible) judgeQuestion(walked, item, row, judging, judged);
      judged.isScreenedOut = options.isComplete && walked.isScreenedOut;
      judged.cells = yield* cellsOf(walked, row, options);
      markNotAsked(row, { walk: walked, isComplete: options.isComplete, responseId: options.responseId });
      return judged;
    },
    /**
     * Codes of the quotas by cell in which a stored response counts; `isStarted`: it is open, and counts in those of
     * started ones, unless its answers screen out.
     */
    *cells(row: AnswerRow, context: RespondentContext, { isStarted }: { isStarted: boolean }): SlicedWork<number[]> {
      if (!isStarted) return yield* cellsIn(yield* completedWalk(row, context));
      const walked = startedCellsIn && (yield* storedWalk(row, context));
      return walked && !walked.isScreenedOut ? yield* startedCellsIn(walked) : [];
    },
  };
}

/** The same sections, questions, options and rows, all of them on every path. */
const withoutRules = (definition: PathDefinition): PathDefinition => ({
  ...definition,
  sections: (definition.sections ?? []).map(({ visibleIf: _, ...section }) => section),
  questions: definition.questions.map(({ visibleIf: _, skips: __, optionsFrom: ___, ...question }) => ({
    ...question,
    options: question.options.map(({ visibleIf: ____, ...option }) => option),
    settings: {
      ...question.settings,
      ...(question.settings.rows && { rows: question.settings.rows.map(({ visibleIf: ____, ...row }) => row) }),
    },
  })),
});

export type SubmissionPaths = NonNullable<ReturnType<typeof compileSubmissionPaths>>;

/** Prepares quotas by cell; the function gives the codes of those that a respondent counts for. */
function compileCells(quotas: readonly CellQuota[], paths: CompiledPaths): (walk: Walk) => SlicedWork<number[]> {
  const index = indexConditions(
    quotas.map(({ where }) => where),
    paths,
  );
  return function* (walk) {
    return (yield* index(walk)).map((place) => quotas[place]?.code ?? 0);
  };
}

function invitationOf(metadata: Readonly<Record<string, string>>): Record<string, string> | undefined {
  let found: Record<string, string> | undefined;
  for (const key in metadata) {
    if (!key.startsWith(invitationPrefix)) continue;
    found ??= {};
    found[key.slice(invitationPrefix.length)] = metadata[key] ?? '';
  }
  return found;
}

/**
 * A partial save keeps everything that was given, since later answers may bring it back on the path; but of its own
 * answers on the path none may choose too few.
 */
function judgeQuestion(
  walk: Walk,
  item: CompiledQuestion,
  row: AnswerRow,
  { isComplete, isStrict, answers, reported, isBranched }: JudgeOptions & { isBranched: boolean },
  judged: JudgedPath,
): void {
  const { question, place } = item;
  const given = answers ? (answers[place] ?? []) : undefined;
  const isGiven = !given || given.length > 0;
  if (!isComplete && !isGiven) return;
  if (walk.onPath[place] !== 1) {
    if (!isComplete || !isAnswered(row, item)) return;
    const first = given?.[0];
    if (isStrict && first) judged.issues.push({ path: `answers.${first.index}`, message: 'is not on the path' });
    clear(row, item);
    judged.ignored.push(question.id);
    return;
  }
  if (reported?.has(item) === true) return;
  const [options, rows] = [walk.offeredOptions[place], walk.offeredRows[place]];
  const offered = { options, rows };
  const hasOffer = options !== undefined || rows !== undefined;
  if (isComplete && hasOffer && isAnswered(row, item) && !keepOffered(item, row, { offered, given }, judged)) return;
  // Where all are asked everything, too few are refused as they are read.
  const tooFew = isBranched ? tooFewOffered(item, row, offered) : undefined;
  if (tooFew !== undefined) {
    judged.issues.push({ path: `answers.${given?.[0]?.index ?? question.id}`, message: tooFew });
    return;
  }
  if (!isComplete) return;
  if (!question.isRequired || walk.isSatisfied(place)) return;
  const shownRows = rows ? visibleRows(question).filter((_, index) => rows[index] === 1) : question.rows;
  const shown = { ...item, question: { ...question, rows: shownRows } };
  const message = missingMessage(shown, row, (given ?? []).length > 0);
  // An earlier save may name an option that is deleted: the path does not know it, but it is an answer.
  if (message === undefined && given?.length === 0) return;
  judged.issues.push({
    path: `answers.${given?.[0]?.index ?? question.id}`,
    message: message ?? `question ${question.id} is required`,
  });
}

interface OfferedAndGiven {
  offered: OfferedMasks;
  given: readonly PlacedAnswer[] | undefined;
}

/** Reports given answers that are not offered, and drops those of earlier saves. False: some were reported. */
function keepOffered(
  item: CompiledQuestion,
  row: AnswerRow,
  { offered, given }: OfferedAndGiven,
  judged: JudgedPath,
): boolean {
  const { question, type } = item;
  const stays = (answer: ReadAnswer): boolean => fieldNotOffered(question, offered, answer) === undefined;
  const stored = type.write(question, row);
  const hidden = stored.filter((answer) => !stays(answer));
  if (hidden.length === 0) return true;
  if (!given || given.length > 0) {
    const refused = (given ?? []).filter(({ answer }) => !stays(answer));
    const places = refused.length > 0 ? refused : (given ?? []).slice(0, 1);
    for (const { index, answer } of places) {
      const field = fieldNotOffered(question, offered, answer) ?? valueFieldOf(answer);
      judged.issues.push({ path: `answers.${index}.${field}`, message: 'is not offered on this path' });
    }
    if (!given) judged.issues.push({ path: 'answers', message: 'has an answer that is not offered on this path' });
    return false;
  }
  clear(row, item);
  // A RANKING is written in the order of its ranks: without the hidden items they are counted anew, as the path does.
  const kept = stored.filter(stays).map((answer, index) => ({
    index,
    answer: { questionId: question.id, ...answer, ...(answer.rank !== undefined && { rank: index + 1 }) },
  }));
  // A saved answer may name an option that is deleted; no new answer may.
  const asSaved = { ...question, options: question.options.map((option) => ({ ...option, isHidden: false })) };
  if (kept.length > 0) type.read(asSaved, kept, row, { uploads: new Map(), report: () => undefined });
  return true;
}

const valueFieldOf = ({ optionId, numberValue }: GivenAnswer): 'optionId' | 'numberValue' | 'textValue' => {
  if (optionId !== undefined) return 'optionId';
  return numberValue === undefined ? 'textValue' : 'numberValue';
};
