import { z } from 'zod';
import type { Question } from '../survey.ts';
import { refuseExtraFields, singleAnswer } from './answer-fields.ts';
import type { NumberBounds, QuestionType } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { numberStatistic } from './scale.ts';
import { numberSlotAt, slotAt } from './slots.ts';

const bound = z.number().min(-1e15).max(1e15);

/** A free number, with optional bounds. */
export const number: QuestionType = {
  optionSource: 'none',
  hasRows: false,
  settings: z
    .strictObject({ min: bound.optional(), max: bound.optional(), integer: z.boolean().default(false) })
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
    // Stores -0 as 0: JSON serialises it as 0, but the database would keep the sign.
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

/** If both limits are set, the bins cover them, so that they do not depend on the answers. */
function boundsOf({ settings: { min, max } }: Question): { bounds?: NumberBounds } {
  return typeof min === 'number' && typeof max === 'number' ? { bounds: { min, max } } : {};
}
