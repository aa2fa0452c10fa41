import type { CountResult } from '../questions/contract.ts';
import { registry } from '../questions/registry.ts';
import type { Question } from '../survey.ts';

/** How many responses answered a question. */
export interface Answered {
  base: number;
  /** Of its parts, in the order of its count plan. */
  partBases: readonly number[];
}

/** A question's statistic (contract §8) from its counts. `total`: all responses. */
export function interpretQuestion(
  question: Question,
  results: readonly CountResult[],
  { base, partBases }: Answered,
  total: number,
) {
  return {
    questionId: question.id,
    type: question.type,
    responseCount: base,
    skippedCount: total - base,
    ...registry[question.type].statistic(question, results, base, partBases),
  };
}

export interface SurveyCounts {
  total: number;
  complete: number;
  /** Mean in milliseconds over the responses with a duration; null if there are none. */
  durationAverageMs: number | null;
  /** Null if there are none. */
  durationMedianSeconds: number | null;
}

/**
 * The survey's summary: completion rate in percent with one decimal, mean duration in seconds (0 if unknown), median
 * duration.
 */
export function surveyHead({ total, complete, durationAverageMs, durationMedianSeconds }: SurveyCounts) {
  return {
    totalResponses: total,
    completeResponses: complete,
    completionRate: total === 0 ? 0 : Math.round((complete / total) * 1000) / 10,
    averageDuration: durationAverageMs === null ? 0 : durationAverageMs / 1000,
    medianDuration: durationMedianSeconds,
  };
}
