import { runAtOnce, type SlicedWork } from '../../platform/slices.ts';
import { givenAnswers, type PathAnswers } from './answers.ts';
import { foldTexts } from './conditions.ts';
import type { PathItem } from './definition.ts';
import type { QuestionShape } from './question-shape.ts';
import { seedOf, shuffled } from './shuffle.ts';
import { type CompiledPaths, type CompiledQuestion, compilePaths, type PathContext, Walk } from './walk.ts';

export type { PathAnswers } from './answers.ts';
export type { CompiledPaths, PathContext, Walk } from './walk.ts';
export { compilePaths, givenAnswers };

export interface Path {
  /** Sections with a question on the path, in the order shown; `id` is null before the first section. */
  sections: PathPage[];
  /**
   * The question after the last answered one, in the order shown; if there is none, the first required one that lacks an
   * answer. Null unless OPEN.
   */
  next: string | null;
  /** OPEN: a required question lacks an answer, or questions follow the last answered one. */
  outcome: 'OPEN' | 'COMPLETE' | 'SCREENED_OUT';
  /** Answered questions ÷ questions on the path; 1 unless OPEN. */
  progress: number;
}

export interface PathPage {
  id: string | null;
  questions: PathStep[];
}

export interface PathStep {
  id: string;
  /** Options and rows that are offered, in the order shown. */
  optionIds: readonly string[];
  rowIds: readonly string[];
  isRequired: boolean;
}

/**
 * Which questions, options and rows are on a respondent's path, for callers that do not show it. One pass, linear in the
 * survey's size; never throws.
 */
export const walkOf = (compiled: CompiledPaths, answers: PathAnswers, context: PathContext): Walk =>
  runAtOnce(new Walk(compiled, answers, context).run());

/** `walkOf` for servers, which conditions on many long texts must not hold up. */
export function* slicedWalk(compiled: CompiledPaths, answers: PathAnswers, context: PathContext): SlicedWork<Walk> {
  const walk = new Walk(compiled, answers, context);
  const known = {
    answer: (question: number) => answers.answer(question),
    folded: (text: string) => walk.folded(text),
  };
  yield* foldTexts(compiled.texts, known);
  return yield* walk.run();
}

/** A respondent's path as it is shown. */
export const pathOf = (compiled: CompiledPaths, answers: PathAnswers, context: PathContext): Path =>
  pathOfWalk(compiled, walkOf(compiled, answers, context));

/** The path of a walk as it is shown. */
export function pathOfWalk(compiled: CompiledPaths, walk: Walk): Path {
  const pages = pagesOf(compiled, walk);
  const shown = pages.flatMap(({ indexes }) => indexes);
  const lastAnswered = shown.findLastIndex((question) => walk.isAnswered(question));
  const missing = shown.find(
    (question) => compiled.questions[question]?.isRequired === true && !walk.isSatisfied(question),
  );
  const next = shown[lastAnswered + 1] ?? missing;
  const outcome =
    walk.isScreenedOut && missing === undefined ? 'SCREENED_OUT' : next === undefined ? 'COMPLETE' : 'OPEN';
  const isOpen = outcome === 'OPEN' && next !== undefined;
  return {
    sections: pages.map(({ id, indexes }) => ({
      id,
      questions: indexes.map((question) => stepOf(compiled, walk, question)),
    })),
    next: isOpen ? (compiled.questions[next]?.id ?? null) : null,
    outcome,
    progress: isOpen ? shown.filter((question) => walk.isAnswered(question)).length / shown.length : 1,
  };
}

interface Page {
  id: string | null;
  /** Questions in the order shown. */
  indexes: readonly number[];
}

function pagesOf(compiled: CompiledPaths, walk: Walk): Page[] {
  return pagesShown(compiled, walk.responseId).flatMap(({ id, indexes }) => {
    const shown = indexes.filter((question) => walk.onPath[question] === 1);
    return shown.length === 0 ? [] : [{ id, indexes: shown }];
  });
}

/** All questions in the order shown to a respondent, whether or not they are on the path. */
export const shownOrder = (compiled: CompiledPaths, responseId: string | undefined): number[] =>
  pagesShown(compiled, responseId).flatMap(({ indexes }) => indexes);

function pagesShown(compiled: CompiledPaths, responseId: string | undefined): Page[] {
  const { questions, sections } = compiled;
  const inOrder = compiled.isShuffled
    ? inShownOrder(sections, (section) => section.isAnchored, responseId, 'sections')
    : sections;
  return [
    { id: null, indexes: range(0, sections[0]?.start ?? questions.length) },
    ...inOrder.map(({ id, start, end, isShuffled }) => ({
      id,
      indexes: isShuffled
        ? inShownOrder(range(start, end), (question) => questions[question]?.isAnchored === true, responseId, id)
        : range(start, end),
    })),
  ];
}

function stepOf(compiled: CompiledPaths, walk: Walk, question: number): PathStep {
  const { responseId } = walk;
  const { id, isRequired, shufflesOptions, shufflesRows } = compiled.questions[question] as CompiledQuestion;
  const { options, optionIds, rows, rowIds } = compiled.shapes[question] as QuestionShape;
  const shown = (
    items: readonly PathItem[],
    ids: readonly string[],
    scope: string | undefined,
    mask: Uint8Array | undefined,
  ) => {
    const isShuffled = scope !== undefined && responseId !== undefined;
    if (!isShuffled && !mask) return ids;
    const places = range(0, items.length);
    const isAnchored = (place: number) => items[place]?.isAnchored === true;
    const ordered = isShuffled ? inShownOrder(places, isAnchored, responseId, `${id}/${scope}`) : places;
    return ordered.flatMap((place) => (mask && mask[place] !== 1 ? [] : (ids[place] as string)));
  };
  return {
    id,
    optionIds: shown(options, optionIds, shufflesOptions ? 'options' : undefined, walk.offeredOptions[question]),
    rowIds: shown(rows, rowIds, shufflesRows ? 'rows' : undefined, walk.offeredRows[question]),
    isRequired,
  };
}

/** All items are shuffled before the hidden ones are left out, so that what is hidden never moves the others. */
const inShownOrder = <T>(
  items: readonly T[],
  isAnchored: (item: T) => boolean,
  responseId: string | undefined,
  scope: string,
): readonly T[] => (responseId === undefined ? items : shuffled(items, isAnchored, seedOf(responseId, scope)));

function range(from: number, to: number): number[] {
  const numbers: number[] = [];
  for (let number = from; number < to; number += 1) numbers.push(number);
  return numbers;
}
