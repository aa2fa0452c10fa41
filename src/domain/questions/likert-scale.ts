import { z } from 'zod';
import { refuseExtraFields, singleAnswer } from './answer-fields.ts';
import {
  chosenIn,
  codesOf,
  distributionOf,
  findOption,
  hasHidden,
  optionByCode,
  optionCategories,
  requestUnfiltered,
  shuffleSetting,
} from './choice.ts';
import type { QuestionType } from './contract.ts';
import { blankStatistic, box, momentsOf } from './numbers.ts';
import { inScaleOrder, openPoints, optionAt, pointsOf } from './ordered-options.ts';
import { slotAt } from './slots.ts';

/**
 * Agreement on an ordered scale; the answer is an option's id or its point (1…n). Points are fixed once there are
 * answers.
 */
export const likertScale: QuestionType = {
  optionSource: 'default',
  defaultOptions: ['Strongly disagree', 'Disagree', 'Neutral', 'Agree', 'Strongly agree'].map((text) => ({
    text,
    value: text.toLowerCase().replace(' ', '-'),
  })),
  isOrdered: true,
  hasRows: false,
  settings: z.strictObject({ shuffleOptions: shuffleSetting }),
  frozenSettings: [],
  slotKeys: () => ({ codes: [''], numbers: [], texts: [] }),
  read(question, answers, row, context) {
    const placed = singleAnswer(answers, context);
    if (!refuseExtraFields(placed, { value: ['optionId', 'numberValue'] }, context)) return;
    const { numberValue } = placed.answer;
    const option = numberValue === undefined ? findOption(question, placed, context) : optionAt(question, numberValue);
    if (option) row.codes[slotAt(question)] = option.code;
    else if (numberValue !== undefined) context.report(placed.index, 'numberValue', rangeMessage(openPoints(question)));
  },
  write(question, row) {
    const option = optionByCode(question, row.codes[slotAt(question)] ?? 0);
    return option ? [{ optionId: option.id }] : [];
  },
  countPlan: (question) => ({
    base: [slotAt(question)],
    requests: [{ kind: 'codes', slot: slotAt(question), ...requestUnfiltered(hasHidden(question.options)) }],
  }),
  statistic(question, results, base) {
    const counts = codesOf(results[0]);
    const countOf = (code: number | undefined) => counts.get(code ?? 0) ?? 0;
    const scale = inScaleOrder(question.options);
    // Top and bottom are those of the question, not of the answers: the boxes of subgroups must add up to the whole.
    const shown = scale.filter(({ isHidden }) => !isHidden);
    return {
      ...blankStatistic(),
      ...momentsOf([...pointsOf(question)].map(([code, value]) => ({ value, count: countOf(code) }))),
      distribution: distributionOf(scale, countOf, chosenIn(results[0])),
      topBox: box(countOf(shown.at(-1)?.code), base),
      bottomBox: box(countOf(shown[0]?.code), base),
    };
  },
  dimension: (question) => ({
    categories: optionCategories(inScaleOrder(question.options)),
    source: { kind: 'code', slot: slotAt(question) },
  }),
  chart: 'share',
  exportColumns: (question) => [
    {
      key: '',
      label: '',
      cell: { kind: 'choice', slot: slotAt(question), categories: optionCategories(question.options) },
    },
  ],
};

/** Error message with the valid points: those of visible options, which may have gaps. */
function rangeMessage(points: readonly number[]): string {
  const isWhole = points.every((point, index) => point === index + 1);
  return isWhole ? `must be a whole number from 1 to ${points.length}` : `must be one of ${points.join(', ')}`;
}
