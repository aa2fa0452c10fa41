import { z } from 'zod';
import type { QuestionType } from './contract.ts';
import { codesOf, distributionOf, findOption, optionByCode, optionCategories } from './choice.ts';
import { slotAt } from './columns.ts';
import { blankStatistic, box, momentsOf } from './numbers.ts';
import { openPoints, optionAt, pointsOf } from './ordered-options.ts';
import { onlyAnswer, refuseStrays } from './text-checks.ts';

/** Agreement on an ordered scale; the answer is an option or its point, 1…n, which it keeps once there are answers. */
export const likertScale: QuestionType = {
  optionSource: 'default',
  defaultOptions: ['Strongly disagree', 'Disagree', 'Neutral', 'Agree', 'Strongly agree'].map((text) => ({ text, value: text.toLowerCase().replace(' ', '-') })),
  isOrdered: true,
  hasRows: false,
  settings: z.strictObject({}),
  frozenSettings: [],
  columns: () => ({ codes: [''], numbers: [], texts: [] }),
  read(question, answers, row, context) {
    const placed = onlyAnswer(answers, context);
    if (!refuseStrays(placed, { value: ['optionId', 'numberValue'] }, context)) return;
    const { numberValue } = placed.answer;
    const option = numberValue === undefined ? findOption(question, placed, context) : optionAt(question, numberValue);
    if (option) row.codes[slotAt(question)] = option.code;
    else if (numberValue !== undefined) context.report(placed.index, 'numberValue', rangeMessage(openPoints(question)));
  },
  write(question, row) {
    const option = optionByCode(question, row.codes[slotAt(question)] ?? 0);
    return option ? [{ optionId: option.id }] : [];
  },
  countPlan: (question) => ({ base: [slotAt(question)], requests: [{ kind: 'codes', slot: slotAt(question) }] }),
  statistic(question, results, base) {
    const counts = codesOf(results[0]);
    const shown = new Set(question.options.filter(({ isHidden }) => !isHidden).map(({ code }) => code));
    const counted = [...pointsOf(question)].filter(([code]) => shown.has(code) || counts.has(code)).map(([code, value]) => ({ value, count: counts.get(code) ?? 0 }));
    return {
      ...blankStatistic(),
      ...momentsOf(counted),
      distribution: distributionOf(question.options, (code) => counts.get(code) ?? 0),
      topBox: box(counted.at(-1)?.count ?? 0, base),
      bottomBox: box(counted[0]?.count ?? 0, base),
    };
  },
  dimension: (question) => ({ categories: optionCategories(question.options), source: { kind: 'code', slot: slotAt(question) } }),
  chart: 'share',
  exportColumns: (question) => [{ key: '', label: '', cell: { kind: 'choice', slot: slotAt(question), categories: optionCategories(question.options) } }],
};

/** Where an option of the scale is no longer shown, its point is no answer any more. */
function rangeMessage(points: readonly number[]): string {
  const isWhole = points.every((point, index) => point === index + 1);
  return isWhole ? `must be a whole number from 1 to ${points.length}` : `must be one of ${points.join(', ')}`;
}
