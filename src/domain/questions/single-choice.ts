import { z } from 'zod';
import type { Question } from '../survey.ts';
import { type AllowedFields, refuseExtraFields, singleAnswer } from './answer-fields.ts';
import {
  chosenIn,
  codesOf,
  distributionOf,
  findOption,
  hasHidden,
  optionByCode,
  optionCategories,
  otherCategory,
  requestUnfiltered,
  shuffleSetting,
} from './choice.ts';
import { type Category, otherCode, otherValue, type QuestionType } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { slotAt, textSlotAt } from './slots.ts';
import { isPlainText, maxOtherLength } from './text-checks.ts';

const optionOnly: AllowedFields = { value: ['optionId'] };
const optionOrOther: AllowedFields = { value: ['optionId', 'textValue'] };

/** MULTIPLE_CHOICE and DROPDOWN: one option, or a free text if the author allows it. */
export const singleChoice: QuestionType = {
  optionSource: 'author',
  hasRows: false,
  settings: z.strictObject({ allowOther: z.boolean().default(false), shuffleOptions: shuffleSetting }),
  frozenSettings: [],
  slotKeys: (question) => ({
    codes: [''],
    numbers: [],
    texts: question.settings['allowOther'] === true || 'other' in question.slots.texts ? ['other'] : [],
  }),
  read(question, answers, row, context) {
    const placed = singleAnswer(answers, context);
    const allowsOther = question.settings['allowOther'] === true;
    if (!refuseExtraFields(placed, allowsOther ? optionOrOther : optionOnly, context)) return;
    const { textValue } = placed.answer;
    if (textValue === undefined) {
      const option = findOption(question, placed, context);
      if (option) row.codes[slotAt(question)] = option.code;
      return;
    }
    if (textValue.trim() === '' || [...textValue].length > maxOtherLength || !isPlainText(textValue))
      return context.report(placed.index, 'textValue', `must be a text of 1 to ${maxOtherLength} characters`);
    row.codes[slotAt(question)] = otherCode;
    row.texts[textSlotAt(question, 'other')] = textValue;
  },
  write(question, row) {
    const code = row.codes[slotAt(question)] ?? 0;
    if (code === otherCode) return [{ textValue: row.texts[textSlotAt(question, 'other')] ?? '' }];
    const option = optionByCode(question, code);
    return option ? [{ optionId: option.id }] : [];
  },
  countPlan: (question) => {
    const isAnyHidden = hasHidden(question.options) || otherCategories(question).some(({ isHidden }) => isHidden);
    return {
      base: [slotAt(question)],
      requests: [{ kind: 'codes', slot: slotAt(question), ...requestUnfiltered(isAnyHidden) }],
    };
  },
  statistic(question, results) {
    const counts = codesOf(results[0]);
    const isChosen = chosenIn(results[0]);
    const distribution = distributionOf(question.options, (code) => counts.get(code) ?? 0, isChosen);
    if (question.settings['allowOther'] === true || isChosen(otherCode))
      distribution[otherValue] = counts.get(otherCode) ?? 0;
    return { ...blankStatistic(), distribution };
  },
  dimension: (question) => ({
    categories: [...optionCategories(question.options), ...otherCategories(question)],
    source: { kind: 'code', slot: slotAt(question) },
  }),
  chart: 'bars',
  exportColumns(question) {
    const other = question.slots.texts['other'];
    return [
      {
        key: '',
        label: '',
        cell: {
          kind: 'choice',
          slot: slotAt(question),
          categories: [...optionCategories(question.options), ...otherCategories(question)],
        },
      },
      ...(other === undefined
        ? []
        : [
            {
              key: otherValue,
              label: otherCategory.text,
              cell: { kind: 'text', presence: slotAt(question), slot: other, code: otherCode, form: 'text' },
            } as const,
          ]),
    ];
  },
};

/** The category “Other” if it is or was allowed; hidden if it is no longer allowed. */
function otherCategories(question: Question): Category[] {
  return 'other' in question.slots.texts
    ? [{ ...otherCategory, isHidden: question.settings['allowOther'] !== true }]
    : [];
}
