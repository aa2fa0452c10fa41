import { z } from 'zod';
import { createLruCache } from '../../platform/lru-cache.ts';
import { oncePerObject } from '../once-per-object.ts';
import { indexOn, pointAt, pointCount, roundTo, type Scale, sizeOf } from '../path/scale-points.ts';
import type { Question } from '../survey.ts';
import { type AllowedFields, refuseExtraFields, singleAnswer } from './answer-fields.ts';
import { codesOf } from './choice.ts';
import type { Category, CountResult, Dimension, QuestionType, TypeStatistic } from './contract.ts';
import { binDistribution, binKey, blankStatistic, box, edgeDigits, maxBins, momentsOf } from './numbers.ts';
import { numberSlotAt, slotAt } from './slots.ts';

export type { Scale } from '../path/scale-points.ts';

/** Scales with more points than this store the number itself instead of the point's index. */
const maxPoints = 10_000;
const numberOnly: AllowedFields = { value: ['numberValue'] };
const maxSteps = 1e9;
/**
 * Smallest step, relative to the largest absolute value on the scale: finer points could not be distinguished as
 * doubles.
 */
const minRelativeStep = 1e-12;

/** Schema of a numeric scale's settings, with the type's defaults. */
export function scaleSettings(defaults: Scale): z.ZodType<Record<string, unknown>> {
  const bounded = z.number().min(-1e12).max(1e12);
  return z
    .strictObject({
      min: bounded.default(defaults.min),
      max: bounded.default(defaults.max),
      step: bounded.default(defaults.step),
    })
    .refine(({ min, max }) => min < max, { path: ['max'], message: 'must be above min' })
    .refine(({ step }) => step > 0, { path: ['step'], message: 'must be above 0' })
    .refine(({ min, max, step }) => step <= max - min && (max - min) / step <= maxSteps, {
      path: ['step'],
      message: 'must divide the scale into 1 to a billion steps',
    })
    .refine((scale) => !(scale.step > 0) || scale.step >= sizeOf(scale) * minRelativeStep, {
      path: ['step'],
      message: 'is too fine for numbers of this size',
    });
}

export function scaleOf({ settings }: Question): Scale {
  return { min: Number(settings['min']), max: Number(settings['max']), step: Number(settings['step']) };
}

const isCoded = (scale: Scale): boolean => pointCount(scale) <= maxPoints;

interface ScaleTypeOptions {
  scale?(question: Question): Scale;
  /** Whether the distribution of a coded scale lists every point; if false, scales of more than 20 steps are binned. */
  showsEveryStep?: boolean;
}

/** A question type for numbers from min to max in fixed steps. */
export function createScaleType(
  settings: z.ZodType<Record<string, unknown>>,
  { scale = scaleOf, showsEveryStep = true }: ScaleTypeOptions = {},
): QuestionType {
  /** Point index by value; empty for uncoded scales. Cached by question object. */
  const pointsOf = oncePerObject((question: Question): ReadonlyMap<number, number> => {
    const own = scale(question);
    return new Map(isCoded(own) ? pointsIn(own).map((point, index) => [point, index]) : []);
  });
  return {
    optionSource: 'none',
    hasRows: false,
    settings,
    frozenSettings: ['min', 'max', 'step'],
    slotKeys: (question) => ({ codes: [''], numbers: isCoded(scale(question)) ? [] : [''], texts: [] }),
    read(question, answers, row, context) {
      const placed = singleAnswer(answers, context);
      const { numberValue } = placed.answer;
      if (!refuseExtraFields(placed, numberOnly, context) || numberValue === undefined) return;
      const own = scale(question);
      const exactIndex = pointsOf(question).get(numberValue);
      if (exactIndex !== undefined) {
        row.codes[slotAt(question)] = exactIndex + 1;
        return;
      }
      const { min, max, step } = own;
      const index = indexOn(own, numberValue);
      if (index === undefined)
        return context.report(
          placed.index,
          'numberValue',
          `must lie on the scale from ${min} to ${max} in steps of ${step}`,
        );
      if (isCoded(own)) row.codes[slotAt(question)] = index + 1;
      else {
        row.codes[slotAt(question)] = 1;
        row.numbers[numberSlotAt(question)] = pointAt(own, index);
      }
    },
    write(question, row) {
      const code = row.codes[slotAt(question)] ?? 0;
      if (code === 0) return [];
      const own = scale(question);
      return [{ numberValue: isCoded(own) ? pointAt(own, code - 1) : (row.numbers[numberSlotAt(question)] ?? 0) }];
    },
    countPlan(question) {
      const slot = slotAt(question);
      const own = scale(question);
      if (isCoded(own)) return { base: [slot], requests: [{ kind: 'codes', slot }] };
      const { min, max } = own;
      return {
        base: [slot],
        requests: [
          {
            kind: 'number',
            slot: numberSlotAt(question),
            presence: slot,
            scale: { min, max, lastPoint: pointAt(own, pointCount(own) - 1) },
          },
        ],
      };
    },
    statistic: (question, [result], base) =>
      result?.kind === 'number'
        ? numberStatistic(result, base)
        : pointStatistic(scale(question), { counts: codesOf(result), base, showsEveryStep }),
    dimension(question) {
      const own = scale(question);
      if (!isCoded(own)) return 'has too many points for a table or a filter';
      return pointDimension(question, pointsIn(own).map(pointCategory));
    },
    filterByValue(question, text) {
      const own = scale(question);
      const ends = text.split('..').map((value) => categoryOf(own, value));
      const [first, last] = [ends[0], ends.at(-1)];
      if (!first || !last || first.code > last.code || ends.length > 2) return undefined;
      const dimension = pointDimension(question, [first]);
      return { dimension, code: first.code, ...(ends.length === 2 && { lastCode: last.code }) };
    },
    chart: 'columns',
    exportColumns(question) {
      const own = scale(question);
      if (isCoded(own))
        return [{ key: '', label: '', cell: { kind: 'point', slot: slotAt(question), points: pointsIn(own) } }];
      return [
        { key: '', label: '', cell: { kind: 'number', presence: slotAt(question), slot: numberSlotAt(question) } },
      ];
    },
  };
}

/** At most 80 kB each. */
const pointsByScale = createLruCache<readonly number[]>(32);

/** Cached by scale: each call of the analytics loads its questions anew, and to round the points takes milliseconds. */
function pointsIn(scale: Scale): readonly number[] {
  return pointsByScale.getOrCreate(`${scale.min} ${scale.max} ${scale.step}`, () =>
    Array.from({ length: pointCount(scale) }, (_, index) => pointAt(scale, index)),
  );
}

const pointCategory = (point: number, index: number): Category => ({
  code: index + 1,
  value: String(point),
  text: String(point),
});

/** The category of a point, as the value of the category is written. */
function categoryOf(scale: Scale, value: string): Category | undefined {
  const index = isCoded(scale) ? indexOn(scale, Number(value)) : undefined;
  const category = index === undefined ? undefined : pointCategory(pointAt(scale, index), index);
  return category?.value === value ? category : undefined;
}

const pointDimension = (question: Question, categories: readonly Category[]): Dimension => ({
  categories,
  source: { kind: 'code', slot: slotAt(question) },
});

function pointStatistic(
  scale: Scale,
  { counts, base, showsEveryStep }: { counts: ReadonlyMap<number, number>; base: number; showsEveryStep: boolean },
): TypeStatistic {
  const points = pointsIn(scale).map((value, index) => ({ value, count: counts.get(index + 1) ?? 0 }));
  return {
    ...blankStatistic(),
    ...momentsOf(points),
    distribution:
      showsEveryStep || points.length - 1 <= maxBins
        ? Object.fromEntries(points.map(({ value, count }) => [String(value), count]))
        : binned(scale, points),
    topBox: box(points.at(-1)?.count ?? 0, base),
    bottomBox: box(points[0]?.count ?? 0, base),
  };
}

/** Counts in twenty equal bins over the whole scale: half-open intervals [low, high), the last one closed. */
function binned(scale: Scale, points: readonly { value: number; count: number }[]): Record<string, number> {
  const width = (scale.max - scale.min) / maxBins;
  const digits = edgeDigits(scale);
  const counts = Array.from({ length: maxBins }, () => 0);
  for (const { value, count } of points) {
    if (count === 0) continue;
    const bin = Math.min(maxBins - 1, Math.floor(roundTo((value - scale.min) / width, 9)));
    counts[bin] = (counts[bin] ?? 0) + count;
  }
  return Object.fromEntries(
    counts.map((count, bin) => [
      binKey(roundTo(scale.min + bin * width, digits), roundTo(scale.min + (bin + 1) * width, digits)),
      count,
    ]),
  );
}

/** Statistic of uncoded numbers from the moments that the database computed. */
export function numberStatistic({ moments }: Extract<CountResult, { kind: 'number' }>, base: number): TypeStatistic {
  const { ends } = moments;
  return {
    averageValue: moments.average,
    medianValue: moments.median,
    standardDeviation: moments.standardDeviation,
    minValue: moments.min,
    maxValue: moments.max,
    distribution: binDistribution(moments.bins),
    ...(ends && { topBox: box(ends.last, base), bottomBox: box(ends.first, base) }),
  };
}
