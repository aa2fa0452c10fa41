import { z } from 'zod';
import { type Question, visibleOptions } from '../survey.ts';
import { type AllowedFields, refuseExtraFields } from './answer-fields.ts';
import {
  bitsOf,
  bitWordKeys,
  bitWordSlots,
  chosenIn,
  distributionOf,
  findOption,
  flagColumns,
  hasBit,
  hasHidden,
  optionCategories,
  requestUnfiltered,
  setBit,
  shuffleSetting,
} from './choice.ts';
import type { QuestionType } from './contract.ts';
import { blankStatistic } from './numbers.ts';

const optionOnly: AllowedFields = { value: ['optionId'] };
const count = z.number().int().min(1).max(200);

/** Several options. Percentages are of respondents, so their sum may exceed 100. */
export const checkboxes: QuestionType = {
  optionSource: 'author',
  hasRows: false,
  settings: z
    .strictObject({
      minSelections: count.optional(),
      maxSelections: count.optional(),
      shuffleOptions: shuffleSetting,
    })
    .refine(({ minSelections = 1, maxSelections = 200 }) => minSelections <= maxSelections, {
      path: ['maxSelections'],
      message: 'must not be below minSelections',
    }),
  definitionIssue(question) {
    const options = visibleOptions(question).length;
    return Number(question.settings['minSelections'] ?? 0) > options
      ? { path: 'settings.minSelections', message: `asks for more than there are options (${options})` }
      : undefined;
  },
  frozenSettings: [],
  slotKeys: (question) => ({ codes: bitWordKeys(question), numbers: [], texts: [] }),
  read(question, answers, row, context) {
    const slots = bitWordSlots(question);
    let chosen = 0;
    for (const placed of answers) {
      if (!refuseExtraFields(placed, optionOnly, context)) continue;
      const option = findOption(question, placed, context);
      if (!option) continue;
      if (setBit(row.codes, slots, option.code)) chosen += 1;
      else context.report(placed.index, 'optionId', 'was chosen before');
    }
    const { maxSelections } = question.settings;
    const first = answers[0]?.index ?? 0;
    const isJudged = context.leavesTooFew !== true && offersTheSame(question);
    const tooFew = isJudged ? fewerThan(question, chosen, visibleOptions(question).length) : undefined;
    if (tooFew !== undefined) context.report(first, '', tooFew);
    if (typeof maxSelections === 'number' && chosen > maxSelections)
      context.report(first, '', `choose at most ${maxSelections}`);
  },
  tooFew(question, row, offered) {
    // Choices are counted only where it matters, because this runs for every submission to a survey with paths.
    if (question.settings['minSelections'] === undefined) return undefined;
    return fewerThan(question, checkboxes.write(question, row).length, offered);
  },
  write(question, row) {
    const slots = bitWordSlots(question);
    return question.options
      .filter((option) => hasBit(row.codes, slots, option.code))
      .map((option) => ({ optionId: option.id }));
  },
  countPlan(question) {
    const slots = bitWordSlots(question);
    return { base: slots, requests: [{ kind: 'bits', slots, ...requestUnfiltered(hasHidden(question.options)) }] };
  },
  statistic(question, results) {
    const counts = bitsOf(results[0]);
    return {
      ...blankStatistic(),
      distribution: distributionOf(question.options, (code) => counts[code - 1] ?? 0, chosenIn(results[0])),
    };
  },
  dimension: (question) => ({
    categories: optionCategories(question.options),
    source: { kind: 'bits', slots: bitWordSlots(question) },
  }),
  chart: 'bars',
  exportColumns: (question) => flagColumns(question.options, bitWordSlots(question)),
};

const offersTheSame = ({ optionsFrom, options }: Question): boolean =>
  optionsFrom === undefined && !options.some(({ isHidden, visibleIf }) => !isHidden && visibleIf !== undefined);

/** Nobody can choose more than is offered. */
function fewerThan({ settings: { minSelections } }: Question, chosen: number, offered: number): string | undefined {
  if (typeof minSelections !== 'number') return undefined;
  const least = Math.min(minSelections, offered);
  return chosen < least ? `choose at least ${least}` : undefined;
}
