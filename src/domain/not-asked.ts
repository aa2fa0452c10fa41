import { validationProblem } from '../errors.ts';
import { bitsPerWord } from './questions/contract.ts';
import { maxCodePositions } from './questions/slot-allocation.ts';
import { activeQuotas } from './quotas/cell-quota.ts';
import {
  type MatrixRow,
  type Question,
  type SurveyWithQuestions,
  type VersionSpan,
  visibleOptions,
  visibleQuestions,
  visibleRows,
} from './survey.ts';

/**
 * Where a stored response says which questions it was not asked: bits of code positions that hold nothing else. A
 * survey gets them with its first condition, skip or shuffled order, since without any every question is asked, in the
 * order of the survey; or with its first quota that may end a response with a part of it. What was added to a published
 * survey was not asked in responses to earlier versions, and what was removed not in those to later ones.
 */

/** Key of a question's own bit; the others are ids of rows. */
export const wholeQuestion = '';

/** Whether two respondents may be asked different questions. */
export function hasPathFeatures(survey: SurveyWithQuestions): boolean {
  return (
    (survey.sections ?? []).some(({ visibleIf }) => visibleIf !== null) ||
    visibleQuestions(survey).some(
      (question) =>
        question.visibleIf !== undefined ||
        question.skips !== undefined ||
        question.optionsFrom !== undefined ||
        [...visibleOptions(question), ...visibleRows(question)].some(({ visibleIf }) => visibleIf !== undefined),
    )
  );
}

/** Whether two respondents may be asked the questions in different orders. */
const shufflesQuestions = ({ isShuffled, sections = [] }: SurveyWithQuestions): boolean =>
  isShuffled === true || sections.some((section) => section.isShuffled === true);

/** Whether in this version, or in one before as far as that is noted, two respondents may be asked other questions. */
export const hasHadPaths = (survey: SurveyWithQuestions): boolean =>
  survey.partialsMarkedFrom !== undefined || hasPathFeatures(survey) || shufflesQuestions(survey);

/** Whether a quota may end a response with a part: its outcome does not say that the rest was not asked. */
const mayEndParts = ({ quotas }: SurveyWithQuestions): boolean =>
  activeQuotas(quotas).some(({ counts, whenFull }) => counts === 'STARTED' && whenFull === 'OVER_QUOTA');

const hasNotAskedBits = ({ questions }: SurveyWithQuestions): boolean =>
  questions.some(({ notAsked }) => notAsked !== undefined);

/** The code position and the mask of a bit as `Question.notAsked` has it. */
export const notAskedPlace = (bit: number): { position: number; mask: number } => ({
  position: Math.floor(bit / bitsPerWord),
  mask: 1 << (bit % bitsPerWord),
});

/** The question itself, and each of its rows that can be hidden while others are shown. */
function notAskedKeys(question: Question): string[] {
  const rows = visibleRows(question).filter(
    ({ visibleIf }) => visibleIf !== undefined || question.optionsFrom !== undefined,
  );
  return [wholeQuestion, ...rows.map(({ id }) => id)];
}

/**
 * Assigns the bits that the survey needs and does not have yet; once it has some, new questions get theirs too. Bits and
 * positions are never reused, so stored responses keep their meaning. Throws VALIDATION_ERROR if the survey would exceed
 * `maxCodePositions`; one that has quotas alone goes without bits then.
 */
export function withNotAskedBits(survey: SurveyWithQuestions): SurveyWithQuestions {
  const isNeeded = hasHadPaths(survey);
  if (!isNeeded && !mayEndParts(survey) && !hasNotAskedBits(survey)) return survey;
  let isSame = true;
  let last = survey.questions.reduce(
    (highest, { notAsked = {} }) => Object.values(notAsked).reduce((one, other) => Math.max(one, other), highest),
    -1,
  );
  let codes = survey.slotCounts.codes;
  const nextBit = (): number => {
    // The bits of a word are assigned in order; after the last one a new word begins.
    if ((last + 1) % bitsPerWord !== 0) last += 1;
    else {
      last = codes * bitsPerWord;
      codes += 1;
    }
    return last;
  };
  const questions = survey.questions.map((question) => {
    const missing = question.isHidden
      ? []
      : notAskedKeys(question).filter((key) => question.notAsked?.[key] === undefined);
    if (missing.length === 0) return question;
    isSame = false;
    const added = Object.fromEntries(missing.map((key) => [key, nextBit()]));
    return { ...question, notAsked: { ...question.notAsked, ...added } };
  });
  if (isSame) return survey;
  if (codes > survey.slotCounts.codes && codes > maxCodePositions) {
    if (!isNeeded) return survey;
    throw validationProblem([{ path: '', message: noRoom }]);
  }
  return { ...survey, questions, slotCounts: { ...survey.slotCounts, codes } };
}

const noRoom = `conditions, skips, shuffled orders and quotas of started responses take one place in the survey’s answers for ${bitsPerWord} questions, and the survey has fewer of ${maxCodePositions} left`;

/**
 * Notes the version that a change makes where something begins or ends with it: in questions and rows that are added to
 * a published survey, in those that are removed or given again, and in the survey where its partial responses mark from
 * now on what they were not asked.
 */
export function withNotedVersions(before: SurveyWithQuestions, changed: SurveyWithQuestions): SurveyWithQuestions {
  const isDraft = before.publishedAt === null;
  const firstVersion = changed.version;
  const areMarksNew =
    changed.partialsMarkedFrom === undefined &&
    hasNotAskedBits(changed) &&
    (hasHadPaths(before) || hasHadPaths(changed)) &&
    (isDraft || changed.version > before.version);
  const known = new Map(before.questions.map((question) => [question.id, question]));
  const after = {
    ...changed,
    ...(areMarksNew && { partialsMarkedFrom: firstVersion }),
    questions: changed.questions.map((question) => withAbsences(known.get(question.id), question, changed.version)),
  };
  if (isDraft) return after;
  const questions = after.questions.map((question) => {
    const former = known.get(question.id);
    if (!former) return { ...question, firstVersion };
    if (former.rows === question.rows) return question;
    const knownRows = new Set(former.rows.map(({ id }) => id));
    if (question.rows.every(({ id }) => knownRows.has(id))) return question;
    return { ...question, rows: question.rows.map((row) => (knownRows.has(row.id) ? row : { ...row, firstVersion })) };
  });
  return { ...after, questions };
}

/** The question with the spans of versions that begin or end with this one, its own and those of its rows. */
function withAbsences(former: Question | undefined, question: Question, version: number): Question {
  if (!former || former === question) return question;
  const knownRows = new Map(former.rows.map((row) => [row.id, row]));
  const rows = question.rows.map((row) => withAbsence(knownRows.get(row.id), row, version));
  const noted = withAbsence(former, question, version);
  return rows.every((row, index) => row === question.rows[index]) ? noted : { ...noted, rows };
}

function withAbsence<T extends Question | MatrixRow>(former: T | undefined, item: T, version: number): T {
  if (!former || former.isHidden === item.isHidden) return item;
  const { absentIn = [] } = item;
  if (!item.isHidden) return { ...item, absentIn: endedAt(absentIn, version) };
  // It was there, so a span without an end is one that a service of a former version has not ended.
  return { ...item, absentIn: bounded([...absentIn.filter(({ to }) => to !== undefined), { from: version }]) };
}

/** An item keeps at most this many spans: the two oldest are joined. */
const maxSpans = 20;

const bounded = (spans: readonly VersionSpan[]): VersionSpan[] =>
  spans.length <= maxSpans ? [...spans] : [{ from: spans[0]?.from ?? 0, to: spans[1]?.to ?? 0 }, ...spans.slice(2)];

const endedAt = (spans: readonly VersionSpan[], version: number): VersionSpan[] =>
  spans.map((span) => (span.to === undefined ? { ...span, to: version } : span)).filter(({ from, to }) => from !== to);
