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

/** A mean or a similar figure of a question. */
export interface Measure {
  name: MeasureName;
  /** The row or item that it describes; the whole question if absent. */
  of?: string;
  /** In full precision. */
  value: number;
  /** For readers: percentages and scores with one decimal, extremes as answered, others by `printedMean`. */
  printed: string;
  isPercent?: true;
}

type Statistic = Summary['questions'][number]['statistic'];

/** A question with its statistic, without the base; stored reports of AI have no number of those not asked either. */
export interface QuestionSummary {
  question: Question;
  statistic: Omit<Statistic, 'base' | 'askedCount' | 'notAskedCount' | 'askedByRow'> &
    Partial<Pick<Statistic, 'notAskedCount'>>;
}

/** The measures of a question in reading order; none if nobody answered it. */
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

/** Whether options are numbered as their points, so that they are surely a scale and a mean makes sense. */
const areNumbered = (question: Question): boolean =>
  visibleOptions(question).every(({ text, code }) => text.trim() === String(pointsOf(question).get(code)));

/** The text of a row of a MATRIX or an item of a RANKING. */
export const lineLabel = ({ rows, options }: Question, key: string): string =>
  [...rows, ...options].find(({ value }) => value === key)?.text ?? key;
