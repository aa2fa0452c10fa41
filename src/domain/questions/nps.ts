import { z } from 'zod';
import { codesOf } from './choice.ts';
import type { QuestionType } from './contract.ts';
import { createScaleType, type Scale } from './scale.ts';

const points: Scale = { min: 0, max: 10, step: 1 };
const base = createScaleType(z.strictObject({}), { scale: () => points });

/**
 * Net promoter score: whole numbers 0–10. Promoters answer 9–10, passives 7–8, detractors 0–6; the score is the
 * percentage of promoters minus that of detractors (Reichheld, “The One Number You Need to Grow”, Harvard Business
 * Review, December 2003).
 */
export const nps: QuestionType = {
  ...base,
  frozenSettings: [],
  chart: 'gauge',
  statistic(question, results, answered) {
    const counts = codesOf(results[0]);
    const between = (low: number, high: number) => {
      let sum = 0;
      for (let value = low; value <= high; value += 1) sum += counts.get(value + 1) ?? 0;
      return sum;
    };
    const [promoters, passives, detractors] = [between(9, 10), between(7, 8), between(0, 6)];
    const total = promoters + passives + detractors;
    return {
      ...base.statistic(question, results, answered),
      nps: { promoters, passives, detractors, score: total === 0 ? null : ((promoters - detractors) / total) * 100 },
    };
  },
};
