import type { QuestionStatistic } from '../data/analytics.ts';
import type { Question } from '../data/questions.ts';
import { formatCount, formatDay, formatNumber, formatPercent } from './format.ts';
import { answerValue, otherValue } from './variables.ts';

/** One bar with its numbers. */
export interface Figure {
  key: string;
  label: string;
  /** A count, or a mean; null: nobody to count. */
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
export type Drawing = 'bars' | 'columns' | 'matrix' | 'words' | 'none';

export interface Fact {
  label: string;
  text: string;
}

type Level = Record<string, number>;

/** As many different days, domains or media types stand in a list; the rest is counted together. */
const mostListed = 30;

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
export function blocksOf(question: Question, statistic: QuestionStatistic): Block[] {
  const base = baseOf(statistic);
  switch (question.type) {
    case 'MATRIX':
      return matrixBlocks(question, statistic);
    case 'RANKING':
      return rankingBlocks(question, statistic);
    case 'SHORT_TEXT':
    case 'LONG_TEXT':
      return [wordBlock(statistic)];
    case 'EMAIL':
    case 'FILE_UPLOAD':
      return [countBlock('', listed(statistic), base)];
    case 'DATE':
      return [countBlock('', days(statistic), base)];
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
  count: number;
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
      percent: base > 0 ? (count / base) * 100 : 0,
      bar: base > 0 ? count / base : 0,
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
    .map((key) => ({ key, label: `${key} (removed)`, count: counts[key] ?? 0 }));
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

function days({ distribution, otherAnswers }: QuestionStatistic): Counted[] {
  const all = Object.entries(distribution as Level).sort(([one], [other]) => (one < other ? -1 : 1));
  const shown = all.slice(-mostListed);
  const rest = all.slice(0, -mostListed).reduce((sum, [, count]) => sum + count, otherAnswers ?? 0);
  return [
    ...(rest > 0 ? [{ key: ' rest', label: 'Other days', count: rest }] : []),
    ...shown.map(([key, count]) => ({ key, label: formatDay(key), count })),
  ];
}

function listed({ distribution, otherAnswers }: QuestionStatistic): Counted[] {
  const all = Object.entries(distribution as Level).sort(([, one], [, other]) => other - one);
  const rest = all.slice(mostListed).reduce((sum, [, count]) => sum + count, otherAnswers ?? 0);
  return [
    ...all.slice(0, mostListed).map(([key, count]) => ({ key, label: key, count })),
    ...(rest > 0 ? [{ key: ' rest', label: 'Others', count: rest }] : []),
  ];
}

function matrixBlocks(question: Question, statistic: QuestionStatistic): Block[] {
  const counts = statistic.distribution as Record<string, Level>;
  const bases = statistic.base === 'asked' ? statistic.askedByRow : statistic.baseByRow;
  const rows = named(question.settings.rows ?? [], Object.fromEntries(Object.keys(counts).map((key) => [key, 0])));
  return rows.map(({ key, label }) =>
    countBlock(key, named(question.options, counts[key] ?? {}), bases?.[key] ?? 0, label),
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

function wordBlock({ topWords = [] }: QuestionStatistic): Block {
  const most = topWords[0]?.count ?? 1;
  return {
    key: '',
    measure: 'Mentions',
    figures: topWords.slice(0, mostListed).map(({ word, count }) => ({
      key: word,
      label: word,
      value: count,
      percent: null,
      bar: count / most,
    })),
  };
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
