import { z } from 'zod';
import { visibleOptions } from '../survey.ts';
import type { QuestionType } from './contract.ts';
import { codesOf, distributionOf, findOption, optionByCode, optionCategories, placeOf } from './choice.ts';
import { slotAt } from './columns.ts';
import { blankStatistic, box, momentsOf } from './numbers.ts';
import { onlyAnswer, refuseStrays } from './text-checks.ts';

/** Agreement on an ordered scale; the answer is an option or its place, 1…n. */
export const likertScale: QuestionType = {
  optionSource: 'default',
  defaultOptions: ['Strongly disagree', 'Disagree', 'Neutral', 'Agree', 'Strongly agree'].map((text) => ({ text, value: text.toLowerCase().replace(' ', '-') })),
  hasRows: false,
  settings: z.strictObject({}),
  frozenSettings: [],
  columns: () => ({ codes: [''], numbers: [], texts: [] }),
  read(question, answers, row, context) {
    const placed = onlyAnswer(answers, context);
    if (!refuseStrays(placed, { value: ['optionId', 'numberValue'] }, context)) return;
    const { numberValue } = placed.answer;
    const option = numberValue === undefined ? findOption(question, placed, context) : visibleOptions(question)[numberValue - 1];
    if (option) row.codes[slotAt(question)] = option.code;
    else if (numberValue !== undefined) context.report(placed.index, 'numberValue', `must be a whole number from 1 to ${visibleOptions(question).length}`);
  },
  write(question, row) {
    const option = optionByCode(question, row.codes[slotAt(question)] ?? 0);
    return option ? [{ optionId: option.id }] : [];
  },
  countPlan: (question) => ({ base: [slotAt(question)], requests: [{ kind: 'codes', slot: slotAt(question) }] }),
  statistic(question, results, base) {
    const counts = codesOf(results[0]);
    const places = placeOf(question);
    const counted = [...places].map(([code, value]) => ({ value, count: counts.get(code) ?? 0 }));
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
