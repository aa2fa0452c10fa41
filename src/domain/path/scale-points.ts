/** Points of a numeric scale: `min`, `min` + `step` … up to `max`. */
export interface Scale {
  min: number;
  max: number;
  step: number;
}

/** Accepted rounding error of a computed value, relative to the largest absolute value on the scale. */
const roundingTolerance = 8 * Number.EPSILON;

/** Largest absolute value on the scale. */
export const sizeOf = ({ min, max }: Scale): number => Math.max(Math.abs(min), Math.abs(max));

const decimals = ({ min, step }: Scale): number => Math.max(decimalsOf(min), decimalsOf(step));

/** Number of points; the last point is below `max` if the step does not divide the range. */
export function pointCount({ min, max, step }: Scale): number {
  const steps = (max - min) / step;
  if (Number.isInteger(steps)) return steps + 1;
  return Math.floor(roundTo(steps, 9)) + 1;
}

export function pointAt(scale: Scale, index: number): number {
  // Whole numbers need no rounding, which takes a microsecond.
  if (Number.isInteger(scale.min) && Number.isInteger(scale.step)) return scale.min + index * scale.step;
  return roundTo(scale.min + index * scale.step, decimals(scale));
}

/**
 * The index of a value on the scale (from 0), or undefined if it is not a point. Rounding errors of double arithmetic
 * are tolerated: 0.1 + 0.2 is the point 0.3 on a scale of tenths.
 */
export function indexOn(scale: Scale, value: number): number | undefined {
  const index = Math.round((value - scale.min) / scale.step);
  if (index < 0 || index >= pointCount(scale)) return undefined;
  return Math.abs(pointAt(scale, index) - value) <= sizeOf(scale) * roundingTolerance ? index : undefined;
}

/** Number of decimal places. */
export function decimalsOf(value: number): number {
  const [mantissa = '', exponent = '0'] = String(value).toLowerCase().split('e');
  return Math.max(0, (mantissa.split('.')[1]?.length ?? 0) - Number(exponent));
}

/** Rounds to at most 20 decimal places; never returns -0. */
export function roundTo(value: number, places: number): number {
  return Number(value.toFixed(Math.min(places, 20))) + 0;
}
