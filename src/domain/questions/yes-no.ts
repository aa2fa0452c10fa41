import { z } from 'zod';
import { type AllowedFields, refuseExtraFields, singleAnswer } from './answer-fields.ts';
import { findOption, shuffleSetting } from './choice.ts';
import type { QuestionType } from './contract.ts';
import { singleChoice } from './single-choice.ts';
import { slotAt } from './slots.ts';

const optionOrText: AllowedFields = { value: ['optionId', 'textValue'] };

/** Yes or no; the answer is the id of one of the two fixed options, or the text “yes” or “no”. */
export const yesNo: QuestionType = {
  ...singleChoice,
  optionSource: 'fixed',
  chart: 'share',
  defaultOptions: [
    { text: 'Yes', value: 'yes' },
    { text: 'No', value: 'no' },
  ],
  settings: z.strictObject({ shuffleOptions: shuffleSetting }),
  slotKeys: () => ({ codes: [''], numbers: [], texts: [] }),
  read(question, answers, row, context) {
    const placed = singleAnswer(answers, context);
    if (!refuseExtraFields(placed, optionOrText, context)) return;
    const { textValue } = placed.answer;
    const option =
      textValue === undefined
        ? findOption(question, placed, context)
        : question.options.find(({ value }) => value === textValue);
    if (option) row.codes[slotAt(question)] = option.code;
    else if (textValue !== undefined) context.report(placed.index, 'textValue', 'must be "yes" or "no"');
  },
};
