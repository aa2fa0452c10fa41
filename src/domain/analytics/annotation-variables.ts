import type { ValidationIssue } from '../../errors.ts';
import { uuid } from '../../platform/ids.ts';
import type { Category, Dimension } from '../questions/contract.ts';
import { registry } from '../questions/registry.ts';
import { type Question, type SurveyWithQuestions, visibleQuestions } from '../survey.ts';
import { sentiments } from './sentiment.ts';
import { currentThemeName, type ThemeNames } from './theme-names.ts';

export const annotationKinds = ['sentiment', 'theme'] as const;
export type AnnotationKind = (typeof annotationKinds)[number];

/** The findings of an analysis. */
export interface AnnotationsFound {
  /** All values found, the most frequent first; themes under the names that people gave them. */
  values: readonly string[];
  /** The analysis called each of these themes so; several names if they were merged by hand. */
  storedAs?: ReadonlyMap<string, readonly string[]>;
}

/** Result of the last finished AI analysis of a kind. An edition never changes; the next analysis creates another. */
export interface AnnotationEdition extends AnnotationsFound {
  edition: string;
  /** Its findings in the answers to each question that a variable names. */
  byQuestion?: ReadonlyMap<string, AnnotationsFound>;
  /** Names that people gave to themes. */
  names?: ThemeNames;
}

/** Editions by kind; kinds that were never analysed are absent. */
export type KnownAnnotations = Partial<Record<AnnotationKind, AnnotationEdition>>;

/** Edition ids by kind, to read the same annotations later. */
export type Editions = Partial<Record<AnnotationKind, string>>;

export const editionsOf = (known: KnownAnnotations): Editions =>
  Object.fromEntries(Object.entries(known).map(([kind, { edition }]) => [kind, edition]));

/** Maximum themes in a table: a larger one would not be readable. */
const maxThemes = 300;
const questionIdPattern = new RegExp(`^(${uuid})(?::|$)`, 'i');

/** The annotation kind that a variable's or filter's name starts with. */
export function annotationKindOf(name: string): AnnotationKind | undefined {
  return annotationKinds.find((kind) => name === kind || name.startsWith(`${kind}:`));
}

/** The question whose themes are the categories of a variable, `theme:questionId`; undefined for other names. */
export function questionOfThemes(name: string): string | undefined {
  const rest = annotationKindOf(name) === 'theme' ? name.slice('theme:'.length) : '';
  return questionIdPattern.exec(rest)?.[0] === rest && rest !== '' ? rest : undefined;
}

/** Whether AI analyses read the answers to a question: only free texts, which are counted by words. */
export function isOpenQuestion(question: Question): boolean {
  return registry[question.type]
    .countPlan(question)
    .requests.some((request) => request.kind === 'text' && request.by === 'words');
}

/**
 * Parses `sentiment`, `theme`, `sentiment:questionId` or `theme:questionId` as a variable. Returns a string with the
 * reason if it is none.
 */
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

/** Parses a filter: `sentiment:positive`, `theme:name`, or with a question `sentiment:questionId:positive`. */
export function annotationFilter(
  survey: SurveyWithQuestions,
  text: string,
  known: KnownAnnotations,
): { dimension: Dimension; code: number } | ValidationIssue {
  const { dimension, rest } = readVariable(survey, text, known);
  if (dimension === undefined) return { path: '', message: rest };
  const names = known[annotationKindOf(text) ?? 'theme']?.names;
  const find = (name: string) => dimension.categories.find(({ value }) => value === name);
  // A name from before stands for the theme that it was renamed to.
  const category = find(rest) ?? (names && find(currentThemeName(names, rest)));
  return category ? { dimension, code: category.code } : { path: '', message: 'names nothing that the analysis found' };
}

/** `rest`: the text after the variable's name or, without a dimension, the reason. */
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
    dimension: { categories: categoriesOf(kind, found.byQuestion?.get(questionOfThemes(name) ?? '') ?? found), source },
    rest: questionId === null ? after : after.slice(questionId.length + 1),
  };
}

/** All sentiments; themes are marked hidden, so that only those with mentions are shown. */
function categoriesOf(kind: AnnotationKind, { values, storedAs }: AnnotationsFound): Category[] {
  const shown = kind === 'sentiment' ? sentiments : values;
  return shown.map((value, index) => ({
    code: index + 1,
    value,
    text: value,
    ...(kind === 'theme' && { isHidden: true, ...(storedAs?.has(value) && { storedAs: storedAs.get(value) ?? [] }) }),
  }));
}
