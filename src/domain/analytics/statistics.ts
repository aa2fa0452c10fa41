import type { Outcome } from '../outcome.ts';
import type { CountResult } from '../questions/contract.ts';
import { box } from '../questions/numbers.ts';
import { registry } from '../questions/registry.ts';
import type { Question } from '../survey.ts';
import type { Base } from './asked.ts';

/** How many responses answered a question. */
export interface Answered {
  base: number;
  /** Of its parts, in the order of its count plan. */
  partBases: readonly number[];
  /** In how many of the counted responses it was not asked; default 0. */
  notAsked?: number;
  /** The same of its rows, by value. */
  notAskedByRow?: Readonly<Record<string, number>>;
}

/**
 * A question's statistic (contract §8) from its counts. `total`: all counted responses. `base`: what percentages refer
 * to.
 */
export function interpretQuestion(
  question: Question,
  results: readonly CountResult[],
  { base: answered, partBases, notAsked = 0, notAskedByRow = {} }: Answered,
  total: number,
  base: Base = 'answered',
) {
  const asked = total - notAsked;
  const { topBox, bottomBox, ...statistic } = registry[question.type].statistic(question, results, answered, partBases);
  const boxes =
    base === 'asked'
      ? { topBox: topBox && box(topBox.count, asked), bottomBox: bottomBox && box(bottomBox.count, asked) }
      : { topBox, bottomBox };
  return {
    questionId: question.id,
    type: question.type,
    responseCount: answered,
    skippedCount: asked - answered,
    askedCount: asked,
    notAskedCount: notAsked,
    base,
    ...statistic,
    ...(boxes.topBox && { topBox: boxes.topBox }),
    ...(boxes.bottomBox && { bottomBox: boxes.bottomBox }),
    ...(statistic.baseByRow && {
      askedByRow: Object.fromEntries(
        Object.keys(statistic.baseByRow).map((row) => [row, total - (notAskedByRow[row] ?? 0)]),
      ),
    }),
  };
}

export interface SurveyCounts {
  total: number;
  outcomes: Readonly<Record<Outcome, number>>;
  /** Mean in milliseconds over the COMPLETED responses with a duration; null if there are none. */
  durationAverageMs: number | null;
  /** Null if there are none. */
  durationMedianSeconds: number | null;
}

/**
 * The survey's summary: completion rate in percent with one decimal, mean duration in seconds (0 if unknown), median
 * duration.
 */
export function surveyHead({ total, outcomes, durationAverageMs, durationMedianSeconds }: SurveyCounts) {
  const complete = outcomes.COMPLETED;
  return {
    totalResponses: total,
    completeResponses: complete,
    completionRate: total === 0 ? 0 : Math.round((complete / total) * 1000) / 10,
    outcomes,
    averageDuration: durationAverageMs === null ? 0 : durationAverageMs / 1000,
    medianDuration: durationMedianSeconds,
  };
}
