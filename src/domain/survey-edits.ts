import { z } from 'zod';
import { conflict, notFound, validationProblem } from '../errors.ts';
import type { Section } from './path/definition.ts';
import {
  changeQuestion,
  defineQuestion,
  type newQuestionBody,
  type questionChangeBody,
} from './questions/question-definition.ts';
import { allocateSlots } from './questions/slot-allocation.ts';
import { isPlainText, notPlainText } from './questions/text-checks.ts';
import { checkStepsIssue, totalSteps } from './submission/answers.ts';
import { type Question, type SurveyWithQuestions, visibleQuestions } from './survey.ts';
import { conditionInput } from './survey-paths/path-inputs.ts';

/**
 * What an author's calls make of a survey. All throw VALIDATION_ERROR or NOT_FOUND; none looks at what the change
 * means for conditions (`settledPaths` does).
 */

export const maxQuestions = 500;
export const maxSections = 200;

export function findQuestion(survey: SurveyWithQuestions, id: string): Question {
  const found = survey.questions.find((question) => question.id === id && !question.isHidden);
  if (!found) throw notFound('question');
  return found;
}

/**
 * The survey with its visible questions in this order, numbered 0, 1, 2 …: first those without a section, then section
 * by section. Questions that keep their place are not copied; deleted ones come last.
 */
export function arranged(
  survey: SurveyWithQuestions,
  questions: readonly Question[] = visibleQuestions(survey),
): SurveyWithQuestions {
  const places = new Map((survey.sections ?? []).map(({ id }, place) => [id, place]));
  const placeOf = ({ sectionId }: Question): number => (sectionId === undefined ? -1 : (places.get(sectionId) ?? -1));
  const ordered = questions.toSorted((one, other) => placeOf(one) - placeOf(other));
  const ids = new Set(ordered.map(({ id }) => id));
  const deleted = survey.questions.filter((question) => question.isHidden && !ids.has(question.id));
  return {
    ...survey,
    questions: [
      ...ordered.map((question, order) => (question.order === order ? question : { ...question, order })),
      ...deleted,
    ],
  };
}

function withSlots(
  survey: SurveyWithQuestions,
  question: Question,
): { survey: SurveyWithQuestions; question: Question } {
  const { slots, counts } = allocateSlots(question, survey.slotCounts);
  return { survey: { ...survey, slotCounts: counts }, question: { ...question, slots } };
}

/** The survey, if its answers can be checked in time. */
function checkable(survey: SurveyWithQuestions): SurveyWithQuestions {
  const issue = checkStepsIssue(totalSteps(visibleQuestions(survey)));
  if (issue) throw validationProblem([issue]);
  return survey;
}

function assertSection({ sections = [] }: SurveyWithQuestions, sectionId: string | null | undefined): void {
  if (sectionId == null || sections.some(({ id }) => id === sectionId)) return;
  throw validationProblem([{ path: 'sectionId', message: 'is not a section of this survey' }]);
}

/** Adds a question at `order`, moved into its section where it lies outside; without `order`, at its section's end. */
export function addQuestion(
  current: SurveyWithQuestions,
  body: z.output<typeof newQuestionBody>,
  { id, newId }: { id: string; newId(): string },
): SurveyWithQuestions {
  const visible = visibleQuestions(current);
  if (visible.length >= maxQuestions)
    throw validationProblem([{ path: '', message: `a survey has at most ${maxQuestions} questions` }]);
  assertSection(current, body.sectionId);
  const order = Math.min(body.order ?? visible.length, visible.length);
  const defined = defineQuestion(body, { id, surveyId: current.id, order, newId });
  if ('issues' in defined) throw validationProblem(defined.issues);
  const { survey, question } = withSlots(current, defined.question);
  return checkable(arranged(survey, [...visible.slice(0, order), question, ...visible.slice(order)]));
}

/** The survey with the changed question. Throws VALIDATION_ERROR or HAS_RESPONSES. */
export function editQuestion(
  current: SurveyWithQuestions,
  id: string,
  body: z.output<typeof questionChangeBody>,
  { isAnswered, newId }: { isAnswered: boolean; newId(): string },
): SurveyWithQuestions {
  const before = findQuestion(current, id);
  assertSection(current, body.sectionId);
  const changed = changeQuestion(before, body, { hasAnswers: isAnswered, newId });
  if ('issues' in changed) throw validationProblem(changed.issues);
  if ('hasResponses' in changed) throw conflict('HAS_RESPONSES', changed.hasResponses);
  const { survey, question } = withSlots(current, changed.question);
  const others = visibleQuestions(current).filter((other) => other.id !== id);
  // In another section it goes last.
  const place = question.sectionId === before.sectionId ? before.order : others.length;
  const order = Math.min(body.order ?? place, others.length);
  return checkable(arranged(survey, [...others.slice(0, order), question, ...others.slice(order)]));
}

/** Hides a question; what it asked of others goes, its positions stay. */
export function hideQuestion(current: SurveyWithQuestions, id: string): SurveyWithQuestions {
  const { visibleIf: _, skips: __, optionsFrom: ___, ...rest } = findQuestion(current, id);
  const placed = arranged(
    current,
    visibleQuestions(current).filter((other) => other.id !== id),
  );
  return { ...placed, questions: [...placed.questions, { ...rest, isHidden: true }] };
}

/** Puts the questions in a new order; each stays in its section. */
export function reorderQuestions(current: SurveyWithQuestions, ids: readonly string[]): SurveyWithQuestions {
  return arranged(current, inOrder(visibleQuestions(current), ids, 'questionIds', 'question'));
}

/** The items in the order of their ids, which must name each exactly once. */
function inOrder<T extends { id: string }>(
  items: readonly T[],
  ids: readonly string[],
  path: string,
  noun: string,
): T[] {
  const byId = new Map(items.map((item) => [item.id, item]));
  if (ids.length !== byId.size || new Set(ids).size !== ids.length || ids.some((id) => !byId.has(id)))
    throw validationProblem([{ path, message: `must name every ${noun} of the survey exactly once` }]);
  return ids.flatMap((id) => byId.get(id) ?? []);
}

const sectionFields = {
  title: z.string().trim().max(300).refine(isPlainText, notPlainText).describe('Default: empty'),
  description: z.string().max(5000).refine(isPlainText, notPlainText).nullable(),
  order: z
    .number()
    .int()
    .min(0)
    .max(10_000)
    .describe('Zero-based place among the sections; default, and for places past the end: last'),
  isShuffled: z
    .boolean()
    .describe('Whether its questions are shown in an order that follows from the id of the response; default: false'),
  isAnchored: z.boolean().describe('Keeps its place when the sections are shuffled; default: false'),
  visibleIf: conditionInput.nullable().describe('Shown only if this holds; null, the default: always'),
};

/** Body of `POST …/sections`. */
export const newSectionBody = z.strictObject(sectionFields).partial();
/** Body of `PUT …/sections/{sectionId}`: any of the fields. */
export const sectionChangeBody = z
  .strictObject(sectionFields)
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'name at least one field');

export function findSection({ sections = [] }: SurveyWithQuestions, id: string): Section {
  const found = sections.find((section) => section.id === id);
  if (!found) throw notFound('section');
  return found;
}

/** The API representation of a section. */
export const describeSection = <T extends Omit<Section, 'order'>>(section: T) => ({
  ...section,
  isAnchored: section.isAnchored ?? false,
});

/** The survey with these sections, numbered in this order, and its questions in theirs. */
function withSections(survey: SurveyWithQuestions, sections: readonly Section[]): SurveyWithQuestions {
  const { sections: _, ...rest } = survey;
  const numbered = sections.map((section, order) => ({ ...section, order }));
  return arranged({ ...rest, ...(numbered.length > 0 && { sections: numbered }) });
}

export function addSection(
  current: SurveyWithQuestions,
  body: z.output<typeof newSectionBody>,
  id: string,
): SurveyWithQuestions {
  const { sections = [] } = current;
  if (sections.length >= maxSections)
    throw validationProblem([{ path: '', message: `a survey has at most ${maxSections} sections` }]);
  const { title = '', description = null, isShuffled = false, isAnchored = false, visibleIf = null } = body;
  const order = Math.min(body.order ?? sections.length, sections.length);
  const section: Section = { id, title, description, order, isShuffled, isAnchored, visibleIf };
  return withSections(current, [...sections.slice(0, order), section, ...sections.slice(order)]);
}

export function editSection(
  current: SurveyWithQuestions,
  id: string,
  body: z.output<typeof sectionChangeBody>,
): SurveyWithQuestions {
  const before = findSection(current, id);
  const others = (current.sections ?? []).filter((section) => section.id !== id);
  const order = Math.min(body.order ?? before.order, others.length);
  const section: Section = {
    id,
    title: body.title ?? before.title,
    description: body.description === undefined ? before.description : body.description,
    order,
    isShuffled: body.isShuffled ?? before.isShuffled,
    isAnchored: body.isAnchored ?? before.isAnchored ?? false,
    visibleIf: body.visibleIf === undefined ? before.visibleIf : body.visibleIf,
  };
  return withSections(current, [...others.slice(0, order), section, ...others.slice(order)]);
}

/** Removes a section; its questions, deleted ones too, go to the end of the section before, or to none. */
export function removeSection(current: SurveyWithQuestions, id: string): SurveyWithQuestions {
  const { order } = findSection(current, id);
  const { sections = [] } = current;
  const before = sections[order - 1]?.id;
  const questions = current.questions.map((question) => {
    if (question.sectionId !== id) return question;
    const { sectionId: _, ...rest } = question;
    return { ...rest, ...(before !== undefined && { sectionId: before }) };
  });
  return withSections(
    { ...current, questions },
    sections.filter((section) => section.id !== id),
  );
}

export function reorderSections(current: SurveyWithQuestions, ids: readonly string[]): SurveyWithQuestions {
  return withSections(current, inOrder(current.sections ?? [], ids, 'sectionIds', 'section'));
}
