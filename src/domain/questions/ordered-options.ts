import type { Option, Question } from '../survey.ts';

/** Options that are a scale, such as those of LIKERT_SCALE and the columns of MATRIX: what each counts in an average, and what an edit may do to that. */

const pointsCache = new WeakMap<Question, ReadonlyMap<number, number>>();

/** Points (1…n) by option code, ascending; hidden options keep those that they had when they were answered. Worked out once: a changed question is a new object. */
export function pointsOf(question: Question): ReadonlyMap<number, number> {
  let points = pointsCache.get(question);
  if (!points) pointsCache.set(question, (points = new Map(placed(question.options).sort((a, b) => a[1] - b[1]))));
  return points;
}

function placed(options: readonly Option[]): [code: number, point: number][] {
  let place = 0;
  return options.flatMap(({ code, point, isHidden }): [number, number][] => {
    if (!isHidden) place += 1;
    const own = point ?? (isHidden ? undefined : place);
    return own === undefined ? [] : [[code, own]];
  });
}

/** Options as they stand on their scale, hidden ones at the points that they kept and those that never had one last; options that are no scale as they are. */
export function inScaleOrder(options: readonly Option[]): readonly Option[] {
  if (options.every(({ point }) => point === undefined)) return options;
  const points = new Map(placed(options));
  const placeOf = ({ code }: Option): number => points.get(code) ?? Number.MAX_SAFE_INTEGER;
  return options.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** The option shown that stands at a point. */
export function optionAt(question: Question, point: number): Option | undefined {
  const points = pointsOf(question);
  return question.options.find(({ code, isHidden }) => !isHidden && points.get(code) === point);
}

/** The points that an answer may name: those of the options shown. */
export function openPoints(question: Question): number[] {
  const points = pointsOf(question);
  return question.options.flatMap(({ code, isHidden }) => (isHidden ? [] : (points.get(code) ?? [])));
}

/**
 * Edited options of a scale that has answers, each with the point it had; new ones go on behind the last. Undefined where somebody's
 * answer would come to mean another point: a new order, or a new option anywhere but at the end. Options that were hidden before points were
 * kept come back where their codes, which were given in the order of the scale, say that they stood.
 */
export function keepPoints(before: Question, edited: readonly Option[]): Option[] | undefined {
  const points = returnedPoints(before, edited) ?? pointsOf(before);
  let last = Math.max(0, ...points.values());
  const withPoints = edited.map((option): Option => {
    const point = points.get(option.code) ?? (option.isHidden ? undefined : (last += 1));
    return point === undefined ? option : { ...option, point };
  });
  const shown = withPoints.filter(({ isHidden }) => !isHidden).map(({ point = 0 }) => point);
  return shown.every((point, index) => index === 0 || point > (shown[index - 1] ?? 0)) ? withPoints : undefined;
}

/** Points of a scale none of whose options has one, when a hidden one is shown again and the codes ascend. */
function returnedPoints({ options }: Question, edited: readonly Option[]): ReadonlyMap<number, number> | undefined {
  const shown = edited.filter(({ isHidden }) => !isHidden).map(({ code }) => code);
  const hidden = new Set(options.flatMap(({ code, isHidden }) => (isHidden ? [code] : [])));
  const isAscending = shown.every((code, index) => index === 0 || code > (shown[index - 1] ?? 0));
  if (!isAscending || options.some(({ point }) => point !== undefined) || !shown.some((code) => hidden.has(code)))
    return undefined;
  return new Map(shown.map((code, index) => [code, index + 1]));
}

/** Options of a scale without answers: the order shown is the scale. */
export const freePoints = (options: readonly Option[]): Option[] => options.map(({ point: _, ...option }) => option);
