import { oncePerObject } from '../once-per-object.ts';
import { type AnswerKind, answerKinds } from '../path/answer-kinds.ts';
import type { Condition, MatchedOptionsFrom, PathDefinition, PathItem, PathQuestion } from '../path/definition.ts';
import { type CompiledPaths, compilePaths } from '../path/path.ts';
import { pointsOf, shownPoints } from '../questions/ordered-options.ts';
import type { QuestionTypeName } from '../questions/type-names.ts';
import {
  type Option,
  type Question,
  type SurveyWithQuestions,
  visibleOptions,
  visibleQuestions,
  visibleRows,
} from '../survey.ts';

/** The kind of every question type; the compiler reports a missing one. */
const kindOfType: Readonly<Record<QuestionTypeName, AnswerKind>> = answerKinds;

/** What is needed to compute paths through a survey; deleted questions, options and rows are left out. */
export function pathDefinitionOf(survey: SurveyWithQuestions): PathDefinition {
  return {
    sections: survey.sections ?? [],
    isShuffled: survey.isShuffled === true,
    questions: visibleQuestions(survey).map((question) => pathQuestionOf(survey, question)),
  };
}

/** `pathDefinitionOf` with the removed options and rows as well, which stored answers may name. */
export function storedDefinitionOf(survey: SurveyWithQuestions): PathDefinition {
  const questions = visibleQuestions(survey).map((question) => withRemoved(pathQuestionOf(survey, question), question));
  return { ...pathDefinitionOf(survey), questions };
}

/** Whether `storedDefinitionOf` has more than `pathDefinitionOf`. */
export const hasRemovedItems = (survey: SurveyWithQuestions): boolean =>
  visibleQuestions(survey).some(({ options, rows }) => [...options, ...rows].some(({ isHidden }) => isHidden));

function withRemoved(asked: PathQuestion, question: Question): PathQuestion {
  const { rows = [] } = asked.settings;
  const removedRows = removedOf(question.rows).map(pathItemOf);
  const points = pointsOf(question);
  const removedOptions = removedOf(question.options).map((option) => ({
    ...pathItemOf(option),
    // One that was removed before points were stored is on no place of the scale.
    point: points.get(option.code) ?? Number.NaN,
  }));
  return {
    ...asked,
    options: alsoRemoved(asked.options, removedOptions),
    settings: { ...asked.settings, ...(question.rows.length > 0 && { rows: alsoRemoved(rows, removedRows) }) },
  };
}

/** `pathDefinitionOf`, prepared for computing many paths. Cached by survey object. */
export const compiledPathsOf = oncePerObject(
  (survey: SurveyWithQuestions): CompiledPaths => compilePaths(pathDefinitionOf(survey)),
);

function pathQuestionOf(survey: SurveyWithQuestions, question: Question): PathQuestion {
  const { id, type, sectionId, isRequired, settings, rows, visibleIf, skips, isAnchored } = question;
  return {
    id,
    type,
    isRequired,
    options: pathOptionsOf(question),
    settings: { ...settings, ...(rows.length > 0 && { rows: visibleRows(question).map(pathItemOf) }) },
    ...(sectionId !== undefined && { sectionId }),
    ...(isAnchored === true && { isAnchored }),
    ...(visibleIf && { visibleIf }),
    ...(skips && { skips }),
    ...(question.optionsFrom && { optionsFrom: matchedOptionsFrom(survey, question) }),
  };
}

const removedOf = (items: readonly Option[]): Option[] => items.filter(({ isHidden }) => isHidden);

/** Where conditions decide what is offered, what was removed is offered to nobody. */
function alsoRemoved(asked: readonly PathItem[], removed: readonly PathItem[]): readonly PathItem[] {
  const isRuled = asked.some(({ visibleIf }) => visibleIf);
  return [...asked, ...removed.map((item) => (isRuled ? { ...item, visibleIf: never } : item))];
}

const never: Condition = { any: [] };

const pathItemOf = ({ id, text, visibleIf, isAnchored }: Option): PathItem => ({
  id,
  text,
  ...(visibleIf && { visibleIf }),
  ...(isAnchored === true && { isAnchored }),
});

/** The options of a question; those of a LIKERT_SCALE with their points where they are not simply 1, 2, 3 … */
function pathOptionsOf(question: Question): PathItem[] {
  const points = shownPoints(question);
  return visibleOptions(question).map((option) => {
    const point = points.get(option.code);
    return { ...pathItemOf(option), ...(point !== undefined && { point }) };
  });
}

/** `optionsFrom` of a question with the pairs of options (for a MATRIX: row and option) of the same value. */
function matchedOptionsFrom(survey: SurveyWithQuestions, question: Question): MatchedOptionsFrom | undefined {
  const { optionsFrom } = question;
  if (!optionsFrom) return undefined;
  const source = survey.questions.find(({ id, isHidden }) => id === optionsFrom.questionId && !isHidden);
  const idOf = new Map((source ? visibleOptions(source) : []).map(({ id, value }) => [value, id]));
  const own = kindOfType[question.type] === 'grid' ? visibleRows(question) : visibleOptions(question);
  const matches = own.flatMap(({ id, value }) => {
    const from = idOf.get(value);
    return from === undefined ? [] : [{ optionId: id, from }];
  });
  return { ...optionsFrom, matches };
}
