import type { QuestionStatistic } from '../data/analytics.ts';
import type { Question } from '../data/questions.ts';
import { formatCount, formatDay, formatNumber, formatPercent } from '../parts/format.ts';
import { countsIn, type KeyList, keyListOf } from './key-list.ts';
import { answerValue, otherValue, removedName } from './variables.ts';

/** One bar with its numbers. */
export interface Figure {
  key: string;
  label: string;
  /** A count or a mean; null: nobody gave a rank, or the service does not list the count. */
  value: number | null;
  /** From 0 to 100; null where a percentage has no meaning, as for words. */
  percent: number | null;
  /** The length of the bar, from 0 to 1. */
  bar: number;
}

/** Figures of one scale, such as all options of a question or those of one row of a MATRIX. */
export interface Block {
  key: string;
  title?: string;
  /** What `value` is. */
  measure: 'Count' | 'Mean rank' | 'Mentions';
  /** What percentages refer to. */
  base?: number;
  figures: Figure[];
}

/** How the figures of a question are drawn first; all have a table as well. */
type Drawing = 'bars' | 'columns' | 'matrix' | 'words' | 'none';

interface Fact {
  label: string;
  text: string;
}

type Level = Record<string, number>;

/** Stands where a count is not known. */
export const unknownText = 'unknown';

export function drawingOf(type: Question['type']): Drawing {
  switch (type) {
    case 'NUMBER':
    case 'SLIDER':
    case 'NPS':
    case 'RATING_SCALE':
    case 'TIME':
    case 'DATE':
      return 'columns';
    case 'MATRIX':
      return 'matrix';
    case 'SHORT_TEXT':
    case 'LONG_TEXT':
      return 'words';
    default:
      return 'bars';
  }
}

/** What percentages of a question refer to. */
export const baseOf = ({ base, askedCount, responseCount }: QuestionStatistic): number =>
  base === 'asked' ? askedCount : responseCount;

/** The figures of a question, in the order of its options, of numbers or of days. */
export function blocksOf(
  question: Question,
  statistic: QuestionStatistic,
  list: KeyList = keyListOf(question, [statistic]),
): Block[] {
  const base = baseOf(statistic);
  switch (question.type) {
    case 'MATRIX':
      return matrixBlocks(question, statistic);
    case 'RANKING':
      return rankingBlocks(question, statistic);
    case 'SHORT_TEXT':
    case 'LONG_TEXT':
      return [wordBlock(statistic, list)];
    case 'EMAIL':
    case 'FILE_UPLOAD':
      return [countBlock('', listed(statistic, list), base)];
    case 'DATE':
      return [countBlock('', days(statistic, list), base)];
    case 'NUMBER':
    case 'SLIDER':
    case 'NPS':
    case 'RATING_SCALE':
    case 'TIME':
      return [countBlock('', points(question, statistic), base)];
    default:
      return [countBlock('', named(question.options, statistic.distribution as Level), base)];
  }
}

interface Counted {
  key: string;
  label: string;
  /** Null: the service does not list it. */
  count: number | null;
}

function countBlock(key: string, counted: readonly Counted[], base: number, title?: string): Block {
  return {
    key,
    ...(title !== undefined && { title }),
    measure: 'Count',
    base,
    figures: counted.map(({ key: name, label, count }) => ({
      key: name,
      label,
      value: count,
      percent: count === null ? null : base > 0 ? (count / base) * 100 : 0,
      bar: base > 0 ? (count ?? 0) / base : 0,
    })),
  };
}

/** Counts in the order of the options; values that are no option any more follow, and “Other” is the last. */
function named(options: Question['options'], counts: Level): Counted[] {
  const known = options.map((option) => ({
    key: answerValue(option),
    label: option.text,
    count: counts[answerValue(option)] ?? 0,
  }));
  const keys = new Set(known.map(({ key }) => key));
  const removed = Object.keys(counts)
    .filter((key) => !keys.has(key) && key !== otherValue)
    .map((key) => ({ key, label: removedName(key), count: counts[key] ?? 0 }));
  const other = counts[otherValue];
  return [...known, ...removed, ...(other === undefined ? [] : [{ key: otherValue, label: 'Other', count: other }])];
}

/** Points of a scale, bins of a number and hours, by their lower edge. */
function points({ type }: Question, { distribution }: QuestionStatistic): Counted[] {
  const label = (key: string) => (type === 'TIME' ? `${key}:00` : key);
  return Object.entries(distribution as Level)
    .sort(([one], [other]) => Number.parseFloat(one) - Number.parseFloat(other))
    .map(([key, count]) => ({ key, label: label(key), count }));
}

function days(statistic: QuestionStatistic, list: KeyList): Counted[] {
  const { counts, rest } = countsIn(list, statistic);
  return [
    ...(list.hasRest ? [{ key: ' rest', label: 'Other days', count: rest }] : []),
    ...list.keys.map((key, at) => ({ key, label: formatDay(key), count: counts[at] ?? null })),
  ];
}

function listed(statistic: QuestionStatistic, list: KeyList): Counted[] {
  const { counts, rest } = countsIn(list, statistic);
  return [
    ...list.keys.map((key, at) => ({ key, label: key, count: counts[at] ?? null })),
    ...(list.hasRest ? [{ key: ' rest', label: 'Others', count: rest }] : []),
  ];
}

function matrixBlocks(question: Question, statistic: QuestionStatistic): Block[] {
  const counts = statistic.distribution as Record<string, Level>;
  const bases = statistic.base === 'asked' ? statistic.askedByRow : statistic.baseByRow;
  const rows = named(question.settings.rows ?? [], Object.fromEntries(Object.keys(counts).map((key) => [key, 0])));
  // Every row has the columns of all, also those that were removed: one head stands above them.
  const columns = Object.fromEntries(Object.values(counts).flatMap((row) => Object.keys(row).map((key) => [key, 0])));
  return rows.map(({ key, label }) =>
    countBlock(key, named(question.options, { ...columns, ...counts[key] }), bases?.[key] ?? 0, label),
  );
}

function rankingBlocks(question: Question, statistic: QuestionStatistic): Block[] {
  const counts = statistic.distribution as Record<string, Level>;
  const items = named(question.options, Object.fromEntries(Object.keys(counts).map((key) => [key, 0])));
  const last = Math.max(2, items.length);
  const means = items.map(({ key, label }) => {
    const mean = statistic.averageRank?.[key] ?? null;
    return { key, label, value: mean, percent: null, bar: mean === null ? 0 : (last + 1 - mean) / last };
  });
  const first = items.map(({ key, label }) => ({ key, label, count: counts[key]?.['1'] ?? 0 }));
  return [
    { key: 'mean', title: 'Mean rank', measure: 'Mean rank', figures: means },
    countBlock('first', first, baseOf(statistic), 'Ranked first'),
  ];
}

function wordBlock(statistic: QuestionStatistic, list: KeyList): Block {
  const most = statistic.topWords?.[0]?.count ?? 1;
  const { counts } = countsIn(list, statistic);
  const figures = list.keys.map((word, at) => {
    const count = counts[at] ?? null;
    return { key: word, label: word, value: count, percent: null, bar: (count ?? 0) / most };
  });
  return { key: '', measure: 'Mentions', figures };
}

/** What a figure says in a table or picture; one that a group lacks is not known either. */
export function valueText(figure: Figure | undefined, measure: Block['measure']): string {
  const value = figure?.value ?? null;
  if (measure === 'Mean rank') return value === null ? '–' : formatNumber(value);
  return value === null ? unknownText : formatCount(value);
}

/** Means and scores in words. */
export function factsOf({ nps, ...statistic }: QuestionStatistic): Fact[] {
  const number = (label: string, value: number | null | undefined): Fact[] =>
    value === null || value === undefined ? [] : [{ label, text: formatNumber(value) }];
  const box = (label: string, found: QuestionStatistic['topBox']): Fact[] =>
    found === undefined || statistic.responseCount === 0 ? [] : [{ label, text: formatPercent(found.percent) }];
  return [
    ...number('NPS', nps?.score),
    ...number('Mean', statistic.averageValue),
    ...number('Median', statistic.medianValue),
    ...number('Standard deviation', statistic.standardDeviation),
    ...number('Lowest', statistic.minValue),
    ...number('Highest', statistic.maxValue),
    ...box('Top box', statistic.topBox),
    ...box('Bottom box', statistic.bottomBox),
  ];
}

/** What is always said of a question. */
export const baseText = ({ responseCount, askedCount, notAskedCount }: QuestionStatistic): string =>
  `${formatCount(responseCount)} answered of ${formatCount(askedCount)} asked${
    notAskedCount > 0 ? `, ${formatCount(notAskedCount)} not asked` : ''
  }`;
