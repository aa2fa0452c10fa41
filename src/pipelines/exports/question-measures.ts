import { pointsOf } from '../../domain/questions/ordered-options.ts';
import { inReadingOrder, outerNames } from '../../domain/questions/reading-order.ts';
import { registry } from '../../domain/questions/registry.ts';
import { type Question, visibleOptions } from '../../domain/survey.ts';
import { percentText, printedAnswer, printedMean, printedScore } from './printed-numbers.ts';
import type { Summary } from './summary.ts';

export type MeasureName =
  | 'NPS'
  | 'Mean'
  | 'Median'
  | 'Standard deviation'
  | 'Minimum'
  | 'Maximum'
  | 'Top box'
  | 'Bottom box';

/** A mean and the like. */
export interface Measure {
  name: MeasureName;
  /** The row or item that it is of. */
  of?: string;
  /** In full precision. */
  value: number;
  /** As people read it: percentages and scores with one decimal, extremes as they were answered, others with four digits or two decimals. */
  printed: string;
  isPercent?: true;
}

type QuestionSummary = Summary['questions'][number];

/** The figures of a question in the order in which they are read; what nobody answered has none. */
export function measuresOf({ question, statistic }: QuestionSummary): Measure[] {
  const {
    averageValue,
    medianValue,
    standardDeviation,
    minValue,
    maxValue,
    nps,
    topBox,
    bottomBox,
    averageRank,
    averageByRow,
    responseCount,
  } = statistic;
  const named: [MeasureName, number | null | undefined, (value: number) => string][] = [
    ['NPS', nps?.score, printedScore],
    ['Mean', averageValue, printedMean],
    ['Median', medianValue, printedMean],
    ['Standard deviation', standardDeviation, printedMean],
    ['Minimum', minValue, printedAnswer],
    ['Maximum', maxValue, printedAnswer],
  ];
  const boxes: [MeasureName, number | undefined][] =
    responseCount === 0
      ? []
      : [
          ['Top box', topBox?.percent],
          ['Bottom box', bottomBox?.percent],
        ];
  const isScale =
    averageByRow !== undefined && areNumbered(question) && !question.rows.some((row) => isOfSeveral(question, row.id));
  const means = inReadingOrder(outerNames(question), averageRank ?? (isScale ? averageByRow : {}));
  return [
    ...named.flatMap(([name, value, print]): Measure[] =>
      typeof value === 'number' ? [{ name, value, printed: print(value) }] : [],
    ),
    ...boxes.flatMap(([name, value]): Measure[] =>
      value === undefined ? [] : [{ name, value, printed: percentText(value), isPercent: true }],
    ),
    ...means.flatMap(([key, value]): Measure[] =>
      value === null ? [] : [{ name: 'Mean', of: lineLabel(question, key), value, printed: printedMean(value) }],
    ),
  ];
}

/** Whether a row of a MATRIX takes several answers. */
export function isOfSeveral(question: Question, row: string): boolean {
  const dimension = registry[question.type].dimension(question, row);
  return typeof dimension !== 'string' && dimension.source.kind === 'bits';
}

/** Whether a mean of points says anything: only of columns that are worded as their points is it sure that they are a scale. */
const areNumbered = (question: Question): boolean =>
  visibleOptions(question).every(({ text, code }) => text.trim() === String(pointsOf(question).get(code)));

/** What a row of a MATRIX or an item of a RANKING is called. */
export const lineLabel = ({ rows, options }: Question, key: string): string =>
  [...rows, ...options].find(({ value }) => value === key)?.text ?? key;
