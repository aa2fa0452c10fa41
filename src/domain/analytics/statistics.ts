import type { CountResult } from '../questions/contract.ts';
import { registry } from '../questions/registry.ts';
import type { Question } from '../survey.ts';

/** A question's statistic (contract §8) from its counts. `base`: responses that answered it; `total`: all responses. */
export function interpretQuestion(question: Question, results: readonly CountResult[], base: number, total: number) {
  return {
    questionId: question.id,
    type: question.type,
    responseCount: base,
    skippedCount: total - base,
    ...registry[question.type].statistic(question, results, base),
  };
}

export interface SurveyCounts {
  total: number;
  complete: number;
  /** Mean in milliseconds over the responses with a duration; null if there are none. */
  durationAverageMs: number | null;
}

/** The survey's summary: completion rate in percent with one decimal, mean duration in seconds (0 if unknown). */
export function surveyHead({ total, complete, durationAverageMs }: SurveyCounts) {
  return {
    totalResponses: total,
    completeResponses: complete,
    completionRate: total === 0 ? 0 : Math.round((complete / total) * 1000) / 10,
    averageDuration: durationAverageMs === null ? 0 : durationAverageMs / 1000,
  };
}
