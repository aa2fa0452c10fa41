import { z } from 'zod';
import type { Question } from '../survey.ts';
import type { NumberBounds, QuestionType } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { numberStatistic } from './scale.ts';
import { numberSlotAt, slotAt } from './slots.ts';
import { refuseExtraFields, singleAnswer } from './text-checks.ts';

const figure = z.number().min(-1e15).max(1e15);

/** A free number, within bounds where the author sets them. */
export const number: QuestionType = {
  optionSource: 'none',
  hasRows: false,
  settings: z
    .strictObject({ min: figure.optional(), max: figure.optional(), integer: z.boolean().default(false) })
    .refine(({ min, max }) => min === undefined || max === undefined || min <= max, {
      path: ['max'],
      message: 'must not be below min',
    })
    .refine(
      ({ min, max, integer }) =>
        integer !== true || min === undefined || max === undefined || min > max || Math.ceil(min) <= max,
      {
        path: ['max'],
        message: 'leaves no whole number from min on',
      },
    ),
  frozenSettings: [],
  slotKeys: () => ({ codes: [''], numbers: [''], texts: [] }),
  read(question, answers, row, context) {
    const placed = singleAnswer(answers, context);
    const { numberValue } = placed.answer;
    if (!refuseExtraFields(placed, { value: ['numberValue'] }, context) || numberValue === undefined) return;
    const { min, max, integer } = question.settings;
    const report = (message: string) => context.report(placed.index, 'numberValue', message);
    if (integer === true && !Number.isInteger(numberValue)) return report('must be a whole number');
    if (typeof min === 'number' && numberValue < min) return report(`must be at least ${min}`);
    if (typeof max === 'number' && numberValue > max) return report(`must be at most ${max}`);
    row.codes[slotAt(question)] = 1;
    // -0 is 0: JSON would bring it back as 0, and the database would not.
    row.numbers[numberSlotAt(question)] = numberValue === 0 ? 0 : numberValue;
  },
  write: (question, row) =>
    (row.codes[slotAt(question)] ?? 0) === 0 ? [] : [{ numberValue: row.numbers[numberSlotAt(question)] ?? 0 }],
  countPlan: (question) => ({
    base: [slotAt(question)],
    requests: [
      {
        kind: 'number',
        slot: numberSlotAt(question),
        presence: slotAt(question),
        ...boundsOf(question),
        ...(question.settings['integer'] === true && { isWhole: true }),
      },
    ],
  }),
  statistic: (_question, [result], base) =>
    result?.kind === 'number' ? numberStatistic(result, base) : blankStatistic(),
  dimension: () => 'is a free number, which has no categories',
  chart: 'columns',
  exportColumns: (question) => [
    { key: '', label: '', cell: { kind: 'number', presence: slotAt(question), slot: numberSlotAt(question) } },
  ],
};

/** Where both limits are set, bins reach from one to the other, so that they are the same in every survey that asks so, whatever is answered. */
function boundsOf({ settings: { min, max } }: Question): { bounds?: NumberBounds } {
  return typeof min === 'number' && typeof max === 'number' ? { bounds: { min, max } } : {};
}
