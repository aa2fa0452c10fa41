import { z } from 'zod';
import { Problem, type ValidationIssue, validationProblem } from '../errors.ts';
import {
  appearanceWithNewIds,
  type NewIds,
  type NewNames,
  optionalText,
  questionWithNewIds,
  sectionWithNewIds,
  textWithNewIds,
} from './new-ids.ts';
import { withNewPositions } from './new-positions.ts';
import { answerKindOf } from './path/answer-kinds.ts';
import { fixedOptionOf, optionInput } from './questions/option-list.ts';
import { defineQuestion, newQuestionBody } from './questions/question-definition.ts';
import { registry } from './questions/registry.ts';
import { checkStepsIssue, stepsOf } from './submission/answers.ts';
import type { Option, Question, SurveyWithQuestions } from './survey.ts';
import { addSection, arranged, maxQuestions, maxSections, newSectionBody } from './survey-edits.ts';
import { checkPaths } from './survey-paths/path-checks.ts';

/** A new survey does not take such a field from the survey that was read. */
export const unusedField = z.unknown().optional();
const fileId = z.string().min(1).max(200).optional();

/** A new survey has no responses that could name what was removed from the survey that was read. */
const hiddenField = z
  .literal(true)
  .optional()
  .describe('It was removed from the survey that was read, and is left out');

const maxWithRemoved = 5000;

/** A list whose removed items do not count towards the maximum: a survey may have had many. Paths stay those in the file. */
const shownAtMost = <Item extends z.ZodType<{ isHidden?: true | undefined }>>(item: Item, itemsAtMost: number) =>
  z
    .array(item)
    .max(maxWithRemoved)
    .refine((items) => items.filter(({ isHidden }) => !isHidden).length <= itemsAtMost, {
      message: `must have at most ${itemsAtMost} items that were not removed`,
    })
    .describe(`In order, at most ${itemsAtMost} that were not removed`);

const importedQuestion = newQuestionBody.extend({
  id: fileId,
  surveyId: unusedField,
  order: unusedField,
  options: shownAtMost(optionInput.extend({ isHidden: hiddenField }), 200).optional(),
  isHidden: hiddenField,
});
type ImportedQuestion = z.output<typeof importedQuestion>;
const importedSection = newSectionBody.extend({ id: fileId, order: unusedField });

/** Parts of the body of an import: as the API shows them, or as it takes them. */
export const importedParts = {
  sections: z.array(importedSection).max(maxSections).default([]).describe('In order; default: none'),
  questions: shownAtMost(importedQuestion, maxQuestions).default([]),
};
type ImportedParts = { [Key in keyof typeof importedParts]: z.output<(typeof importedParts)[Key]> };

/**
 * Adds sections and questions of a file to a blank survey, all with new ids; what conditions, skips and texts name by
 * the ids of the file is named by the new ones. Pauses after each question, because the patterns of many would hold the
 * event loop. Throws VALIDATION_ERROR with paths in the file.
 */
export async function importSurvey(
  blank: SurveyWithQuestions,
  { sections, questions }: ImportedParts,
  { newId, pause }: { newId(): string; pause(): Promise<void> },
): Promise<SurveyWithQuestions> {
  const newIds = new Map<string, string>();
  const points = new Map<string, readonly number[]>();
  const learn = (fileId: unknown, id: string | undefined, path: string) => {
    if (typeof fileId !== 'string' || id === undefined) return;
    if (newIds.has(fileId)) throw validationProblem([{ path: `${path}.id`, message: 'is given twice' }]);
    newIds.set(fileId, id);
  };
  let divided = blank;
  for (const [index, { id: fileId, order: _, ...section }] of sections.entries()) {
    const id = newId();
    learn(fileId, id, `sections.${index}`);
    divided = addSection(divided, section, id);
  }
  const places = new Map<string, number>();
  const defined: Question[] = [];
  let steps = 0;
  for (const [index, { id: fileId, surveyId: _, order: __, isHidden, ...question }] of questions.entries()) {
    if (isHidden) continue;
    const id = newId();
    const path = `questions.${index}`;
    const { body, options, rowIds } = withoutItemIds(question);
    const added = within(path, () => {
      const input = { ...body, ...sectionOf(question, newIds) };
      const read = defineQuestion(input, { id, surveyId: blank.id, order: index, newId });
      if ('issues' in read) throw validationProblem(read.issues);
      steps += stepsOf(read.question);
      const issue = checkStepsIssue(steps);
      if (issue) throw validationProblem([issue]);
      return read.question;
    });
    defined.push(added);
    places.set(id, index);
    learn(fileId, id, path);
    if (fileId !== undefined && namesPoints(question)) points.set(fileId, pointsIn(options, path));
    for (const [at, option] of options.entries())
      learn(option.id, optionOf(added, option, at)?.id, `${path}.options.${at}`);
    for (const [at, fileId] of rowIds.entries()) learn(fileId, added.rows[at]?.id, `${path}.settings.rows.${at}`);
    await pause();
  }
  const imported = withNewIds(arranged(divided, defined), { ids: newIds, points });
  const placed = (path: string) =>
    path.replace(/^(questions|sections)\.([^.]+)/, (whole, list: string, id: string) =>
      list === 'questions'
        ? `questions.${places.get(id) ?? id}`
        : `sections.${imported.sections?.findIndex((section) => section.id === id) ?? whole}`,
    );
  return withPaths(placed, () => {
    const issues = checkPaths(imported);
    if (issues.length > 0) throw validationProblem(issues);
    return withNewPositions(imported);
  });
}

/** The new section of a question. */
function sectionOf({ sectionId }: Pick<ImportedQuestion, 'sectionId'>, newIds: NewIds) {
  if (sectionId == null) return {};
  const id = newIds.get(sectionId);
  if (id === undefined)
    throw validationProblem([{ path: 'sectionId', message: 'is not the id of a section of the file' }]);
  return { sectionId: id };
}

/** The body with the shown options and rows without their ids, which a new question cannot have, and what has them. */
function withoutItemIds(question: Omit<ImportedQuestion, 'id' | 'surveyId' | 'order' | 'isHidden'>) {
  const { settings } = question;
  const isShown = (item: unknown): boolean => (Object(item) as { isHidden?: unknown }).isHidden !== true;
  const options = question.options?.filter(isShown) ?? [];
  const rows: unknown[] = Array.isArray(settings?.['rows']) ? settings['rows'].filter(isShown) : [];
  const bare = <Item>(item: Item): Item => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    const { id: _, ...rest } = item as { id?: unknown };
    return rest as Item;
  };
  return {
    body: {
      ...question,
      ...(question.options && { options: options.map(bare) }),
      ...(rows.length > 0 && { settings: { ...settings, rows: rows.map(bare) } }),
    },
    options,
    rowIds: rows.map((row) => (Object(row) as { id?: unknown }).id),
  };
}

/** The option that was made of one of the file: fixed options keep their own order. */
const optionOf = (
  question: Question,
  given: NonNullable<ImportedQuestion['options']>[number],
  place: number,
): Option | undefined =>
  registry[question.type].optionSource === 'fixed' ? fixedOptionOf(question.options, given) : question.options[place];

const namesPoints = ({ type, options = [] }: Pick<ImportedQuestion, 'type' | 'options'>): boolean =>
  answerKindOf(type) === 'points' && options.some(({ point, isHidden }) => point !== undefined && !isHidden);

/** The points of options of a file: their places, where it names no others. */
function pointsIn(options: NonNullable<ImportedQuestion['options']>, path: string): number[] {
  const points = options.map(({ point }, index) => point ?? index + 1);
  const wrong = points.findIndex((point, index) => point <= (points[index - 1] ?? 0));
  if (wrong >= 0)
    throw validationProblem([
      { path: `${path}.options.${wrong}.point`, message: 'must be above the point of the option before' },
    ]);
  return points;
}

function withNewIds(survey: SurveyWithQuestions, names: NewNames): SurveyWithQuestions {
  const { appearance, sections } = survey;
  const { ids: newIds } = names;
  return {
    ...survey,
    title: textWithNewIds(survey.title, newIds),
    description: optionalText(survey.description, newIds),
    ...(appearance && { appearance: appearanceWithNewIds(appearance, newIds) }),
    ...(sections && { sections: sections.map((section) => sectionWithNewIds(section, names)) }),
    questions: survey.questions.map((question): Question => questionWithNewIds(question, names)),
  };
}

/** Names the place in the file in what `action` refuses. */
const within = <Result>(path: string, action: () => Result): Result =>
  withPaths((inner) => [path, inner].filter((part) => part !== '').join('.'), action);

/** Gives the paths in what `action` refuses their names in the file. */
function withPaths<Result>(placed: (path: string) => string, action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'VALIDATION_ERROR' || !isIssues(error.details)) throw error;
    throw validationProblem(error.details.map((issue) => ({ ...issue, path: placed(issue.path) })));
  }
}

const isIssues = (details: Problem['details']): details is readonly ValidationIssue[] => Array.isArray(details);
