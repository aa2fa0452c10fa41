import type { ValidationIssue } from '../../errors.ts';
import type { Category, Dimension } from '../questions/contract.ts';
import { registry } from '../questions/registry.ts';
import { type Question, type SurveyWithQuestions, visibleQuestions } from '../survey.ts';
import { sentiments } from './sentiment.ts';

export const annotationKinds = ['sentiment', 'theme'] as const;
export type AnnotationKind = (typeof annotationKinds)[number];

/** What the last finished analysis of a kind found. An edition never changes; the next analysis makes another. */
export interface AnnotationEdition {
  edition: string;
  /** All values that were found, the most frequent first. */
  values: readonly string[];
}

/** By kind; what was never analysed is missing. */
export type KnownAnnotations = Partial<Record<AnnotationKind, AnnotationEdition>>;

/** Editions by kind, for who has to read the same findings later. */
export type Editions = Partial<Record<AnnotationKind, string>>;

export const editionsOf = (known: KnownAnnotations): Editions =>
  Object.fromEntries(Object.entries(known).map(([kind, { edition }]) => [kind, edition]));

/** More are no table that anybody reads. */
const maxThemes = 300;
const questionIdPattern = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?::|$)/i;

/** The kind of finding that a variable's or a filter's name begins with. */
export function annotationKindOf(name: string): AnnotationKind | undefined {
  return annotationKinds.find((kind) => name === kind || name.startsWith(`${kind}:`));
}

/** Whether analyses read the answers: what is counted by its words is a free text, addresses and names of files are not. */
export function isOpenQuestion(question: Question): boolean {
  return registry[question.type]
    .countPlan(question)
    .requests.some((request) => request.kind === 'text' && request.by === 'words');
}

/** Reads `sentiment`, `theme`, `sentiment:questionId` or `theme:questionId` as a variable. A string says why it cannot be one. */
export function annotationDimension(
  survey: SurveyWithQuestions,
  name: string,
  known: KnownAnnotations,
): Dimension | string {
  const { dimension, rest } = readVariable(survey, name, known);
  if (dimension === undefined) return rest;
  if (rest !== '') return 'is not a question of this survey';
  return dimension.categories.length > maxThemes
    ? `has more than ${maxThemes} themes; a filter can name any of them`
    : dimension;
}

/** Reads `sentiment:positive`, `theme:name`, or the same with a question as `sentiment:questionId:positive`. */
export function annotationFilter(
  survey: SurveyWithQuestions,
  text: string,
  known: KnownAnnotations,
): { dimension: Dimension; code: number } | ValidationIssue {
  const { dimension, rest } = readVariable(survey, text, known);
  if (dimension === undefined) return { path: '', message: rest };
  const category = dimension.categories.find(({ value }) => value === rest);
  return category ? { dimension, code: category.code } : { path: '', message: 'names nothing that the analysis found' };
}

/** `rest`: what follows the variable's name; without a dimension why there is none. */
function readVariable(
  survey: SurveyWithQuestions,
  name: string,
  known: KnownAnnotations,
): { dimension?: Dimension; rest: string } {
  const kind = annotationKindOf(name);
  if (kind === undefined) return { rest: 'is no finding of an analysis' };
  const after = name.slice(kind.length + 1);
  const questionId = questionIdPattern.exec(after)?.[1] ?? null;
  const question = visibleQuestions(survey).find(({ id }) => id === questionId);
  if (questionId !== null && !question) return { rest: 'is not a question of this survey' };
  if (question && !isOpenQuestion(question)) return { rest: 'is a question whose answers are not analysed' };
  const found = known[kind];
  if (!found)
    return { rest: `needs a finished analysis of the survey (analysisType "${kind === 'theme' ? 'themes' : kind}")` };
  const source = { kind: 'annotation', edition: found.edition, questionId } as const;
  return {
    dimension: { categories: categoriesOf(kind, found), source },
    rest: questionId === null ? after : after.slice(questionId.length + 1),
  };
}

/** Of themes only those that somebody spoke of are shown. */
function categoriesOf(kind: AnnotationKind, { values }: AnnotationEdition): Category[] {
  const shown = kind === 'sentiment' ? sentiments : values;
  return shown.map((value, index) => ({
    code: index + 1,
    value,
    text: value,
    ...(kind === 'theme' && { isHidden: true }),
  }));
}
