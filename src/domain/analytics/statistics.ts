import type { CountResult } from '../questions/contract.ts';
import { registry } from '../questions/registry.ts';
import type { Question } from '../survey.ts';

/** A question's statistic (contract §8) from what was counted: `base` answered it, of `total` responses. */
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
  /** Mean over the responses that have a duration; null where none has. */
  durationAverageMs: number | null;
}

/** The survey's head: the completion rate has one decimal, the duration is in seconds, 0 where there is none. */
export function surveyHead({ total, complete, durationAverageMs }: SurveyCounts) {
  return {
    totalResponses: total,
    completeResponses: complete,
    completionRate: total === 0 ? 0 : Math.round((complete / total) * 1000) / 10,
    averageDuration: durationAverageMs === null ? 0 : durationAverageMs / 1000,
  };
}
