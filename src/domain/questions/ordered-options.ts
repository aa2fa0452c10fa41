import { oncePerObject } from '../once-per-object.ts';
import { answerKindOf } from '../path/answer-kinds.ts';
import type { Option, Question } from '../survey.ts';

/** Ordered options (LIKERT_SCALE, columns of MATRIX): their points in averages, and how edits may change them. */

/** Points (1…n) by option code, in ascending order of points; hidden options keep theirs. Cached by question object. */
export const pointsOf = oncePerObject(
  ({ options }: Question): ReadonlyMap<number, number> => new Map(pointEntries(options).sort((a, b) => a[1] - b[1])),
);

function pointEntries(options: readonly Option[]): [code: number, point: number][] {
  let place = 0;
  return options.flatMap(({ code, point, isHidden }): [number, number][] => {
    if (!isHidden) place += 1;
    const own = point ?? (isHidden ? undefined : place);
    return own === undefined ? [] : [[code, own]];
  });
}

/**
 * Options in scale order, including hidden ones; those without a point come last. Options without any points are
 * returned unchanged.
 */
export function inScaleOrder(options: readonly Option[]): readonly Option[] {
  if (options.every(({ point }) => point === undefined)) return options;
  const points = new Map(pointEntries(options));
  const placeOf = ({ code }: Option): number => points.get(code) ?? Number.MAX_SAFE_INTEGER;
  return options.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** The visible option at a point. */
export function optionAt(question: Question, point: number): Option | undefined {
  const points = pointsOf(question);
  return question.options.find(({ code, isHidden }) => !isHidden && points.get(code) === point);
}

/** The points that an answer may name: those of visible options. */
export function openPoints(question: Question): number[] {
  const points = pointsOf(question);
  return question.options.flatMap(({ code, isHidden }) => (isHidden ? [] : (points.get(code) ?? [])));
}

/** The points, by code, of the visible options of a LIKERT_SCALE that are not simply their places from 1. */
export function shownPoints(question: Question): ReadonlyMap<number, number> {
  if (answerKindOf(question.type) !== 'points') return new Map();
  const points = pointsOf(question);
  const visible = question.options.filter(({ isHidden }) => !isHidden);
  return new Map(
    visible.flatMap(({ code }, index): [number, number][] => {
      const point = points.get(code);
      return point === undefined || point === index + 1 ? [] : [[code, point]];
    }),
  );
}

/**
 * Fixes the points of an edited scale that has answers; new options get the next points after the last. Undefined if
 * stored answers would change their points: reordered options, or a new option not at the end. Options hidden before
 * points were stored return to their place by code, since codes were assigned in scale order.
 */
export function keepPoints(before: Question, edited: readonly Option[]): Option[] | undefined {
  const points = returnedPoints(before, edited) ?? pointsOf(before);
  let last = Math.max(0, ...points.values());
  const withPoints = edited.map((option): Option => {
    const point = points.get(option.code);
    if (point !== undefined) return { ...option, point };
    if (option.isHidden) return option;
    last += 1;
    return { ...option, point: last };
  });
  const shown = withPoints.filter(({ isHidden }) => !isHidden).map(({ point = 0 }) => point);
  return shown.every((point, index) => index === 0 || point > (shown[index - 1] ?? 0)) ? withPoints : undefined;
}

/**
 * Points by code order, if no option has a stored point, a hidden option becomes visible again and the codes ascend.
 */
function returnedPoints({ options }: Question, edited: readonly Option[]): ReadonlyMap<number, number> | undefined {
  const shown = edited.filter(({ isHidden }) => !isHidden).map(({ code }) => code);
  const hidden = new Set(options.flatMap(({ code, isHidden }) => (isHidden ? [code] : [])));
  const isAscending = shown.every((code, index) => index === 0 || code > (shown[index - 1] ?? 0));
  if (!isAscending || options.some(({ point }) => point !== undefined) || !shown.some((code) => hidden.has(code)))
    return undefined;
  return new Map(shown.map((code, index) => [code, index + 1]));
}

/** Removes the points of a scale without answers: its display order is the scale. */
export const freePoints = (options: readonly Option[]): Option[] => options.map(({ point: _, ...option }) => option);
