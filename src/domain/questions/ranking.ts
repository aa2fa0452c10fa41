import { z } from 'zod';
import { oncePerObject } from '../once-per-object.ts';
import { type Option, type Question, visibleOptions } from '../survey.ts';
import { refuseExtraFields } from './answer-fields.ts';
import {
  chosenIn,
  codesOf,
  findOption,
  hasHidden,
  optionCategories,
  requestUnfiltered,
  shuffleSetting,
} from './choice.ts';
import type { PlacedAnswer, QuestionType, ReadContext } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { slotAt } from './slots.ts';

const key = (option: Option): string => `o${option.code}`;

const itemSlots = oncePerObject((question: Question) =>
  question.options.map((option) => slotAt(question, key(option))),
);

interface Ranked {
  placed: PlacedAnswer;
  option: Option;
  rank: number;
}

/** Items in order of preference, 1 = first. Every item is a separate variable that holds its rank. */
export const ranking: QuestionType = {
  optionSource: 'author',
  hasRows: false,
  hasParts: true,
  settings: z.strictObject({
    maxRanked: z.number().int().min(1).max(200).optional(),
    shuffleOptions: shuffleSetting,
  }),
  frozenSettings: [],
  slotKeys: (question) => ({ codes: question.options.map(key), numbers: [], texts: [] }),
  read(question, answers, row, context) {
    const ranked = readRanks(question, answers, context);
    if (!ranked) return;
    const { maxRanked } = question.settings;
    if (typeof maxRanked === 'number' && ranked.length > maxRanked)
      context.report(answers[0]?.index ?? 0, '', `rank at most ${maxRanked}`);
    const taken = new Set<number>();
    for (const { placed, option, rank } of ranked) {
      const slot = slotAt(question, key(option));
      if ((row.codes[slot] ?? 0) !== 0) context.report(placed.index, 'optionId', 'is ranked twice');
      if (taken.has(rank)) context.report(placed.index, 'rank', 'is given twice');
      if (rank > ranked.length)
        context.report(placed.index, 'rank', `leaves a gap: ranks must be 1 to ${ranked.length}`);
      taken.add(rank);
      row.codes[slot] = rank;
    }
  },
  write(question, row) {
    const ranked: { optionId: string; rank: number }[] = [];
    const slots = itemSlots(question);
    for (const [index, option] of question.options.entries()) {
      const rank = row.codes[slots[index] ?? -1] ?? 0;
      if (rank > 0) ranked.push({ optionId: option.id, rank });
    }
    return ranked.sort((a, b) => a.rank - b.rank);
  },
  countPlan: (question) => ({
    base: question.options.map((option) => slotAt(question, key(option))),
    // After an item was removed, older responses may hold ranks above the number of visible items.
    requests: question.options.map((option) => ({
      kind: 'codes',
      slot: slotAt(question, key(option)),
      ...requestUnfiltered(hasHidden(question.options)),
    })),
  }),
  statistic(question, results) {
    const ranks = Array.from({ length: visibleOptions(question).length }, (_, index) => index + 1);
    const distribution: Record<string, Record<string, number>> = {};
    const averageRank: Record<string, number | null> = {};
    for (const [index, option] of question.options.entries()) {
      const counts = codesOf(results[index]);
      const given = question.options.map((_, place) => place + 1).filter(chosenIn(results[index]));
      if (option.isHidden && given.length === 0) continue;
      distribution[option.value] = Object.fromEntries(
        [...new Set([...ranks, ...given])].sort((a, b) => a - b).map((rank) => [String(rank), counts.get(rank) ?? 0]),
      );
      const total = [...counts].reduce((sum, [rank, count]) => sum + (rank > 0 ? count : 0), 0);
      averageRank[option.value] =
        total === 0 ? null : [...counts].reduce((sum, [rank, count]) => sum + rank * count, 0) / total;
    }
    return { ...blankStatistic(), distribution, averageRank };
  },
  dimension(question, named) {
    if (named === undefined)
      return {
        categories: optionCategories(question.options),
        source: {
          kind: 'first',
          items: question.options.map((option) => ({ slot: slotAt(question, key(option)), code: option.code })),
        },
      };
    const item = question.options.find(({ id, value }) => id === named || value === named);
    if (!item) return 'has no such item';
    // One rank for each item; ranks above the number of visible items are shown only if a response has them.
    const shown = visibleOptions(question).length;
    const categories = question.options.map((_, index) => ({
      code: index + 1,
      value: String(index + 1),
      text: String(index + 1),
      isHidden: index >= shown,
    }));
    return { categories, source: { kind: 'code', slot: slotAt(question, key(item)) } };
  },
  chart: 'lines',
  exportColumns: (question) =>
    question.options.map((option) => ({
      key: option.value,
      label: option.text,
      number: String(option.code),
      cell: { kind: 'rank', slot: slotAt(question, key(option)) },
    })),
};

/**
 * The answers with their ranks. Without any rank, the order of the answers counts. Undefined if an issue was reported.
 */
function readRanks(question: Question, answers: readonly PlacedAnswer[], context: ReadContext): Ranked[] | undefined {
  const withRank = answers.filter(({ answer }) => answer.rank !== undefined).length;
  const isByOrder = withRank === 0;
  let isFine = true;
  const ranked = answers.flatMap((placed, order): Ranked[] => {
    const isPlain = refuseExtraFields(placed, { value: ['optionId'], rank: true }, context);
    const option = isPlain ? findOption(question, placed, context) : undefined;
    const rank = isByOrder ? order + 1 : placed.answer.rank;
    if (rank === undefined) context.report(placed.index, 'rank', 'is missing: give every answer a rank, or none');
    else if (!Number.isInteger(rank) || rank < 1) context.report(placed.index, 'rank', 'must be a whole number from 1');
    else if (option) return [{ placed, option, rank }];
    isFine = false;
    return [];
  });
  return isFine ? ranked : undefined;
}
