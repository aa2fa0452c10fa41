import type { ChartKind, TypeStatistic } from '../../domain/questions/contract.ts';
import {
  innerNames,
  inRanges,
  inReadingOrder,
  mostFrequent,
  outerNames,
  wordingOf,
} from '../../domain/questions/reading-order.ts';
import { registry } from '../../domain/questions/registry.ts';
import type { Question } from '../../domain/survey.ts';
import { isOfSeveral, lineLabel, type Measure, measuresOf, type QuestionSummary } from './question-measures.ts';
import { daysIn, type TimelinePoint, timelineOf } from './timeline.ts';

export interface TableCell {
  label: string;
  count: number;
  /**
   * Percentage of the respondents who answered the question, or the row if it takes one answer; null if counts are not
   * of respondents.
   */
  percent: number | null;
  /** The sum of all cells that there is no room for. */
  isRest?: true;
}

/** The counts and measures of one question, ready to be drawn or written. */
export interface QuestionTable {
  question: Question;
  chart: ChartKind;
  answered: number;
  skipped: number;
  /** 0 where it is not known. */
  notAsked: number;
  measures: Measure[];
  /** One line for most types; one for each row of a MATRIX or item of a RANKING. All lines have the same labels. */
  lines: { label: string; cells: TableCell[] }[];
  /** For dates, drawn instead of the lines: counts in order of time, without gaps. */
  timeline?: TimelinePoint[];
  nps: TypeStatistic['nps'];
  /** What the cells count. */
  heading: 'Answer' | 'Rank' | 'Word';
}

/** Labels that are not the author's. */
export interface TableWords {
  /** Free answers of a choice question. */
  Other: string;
  /** Answers or words that there is no room for; followed by their number. */
  rest: string;
}

const wordsShown = 15;
const keysShown = 40;
const english: TableWords = { Other: 'Other', rest: 'All others' };

/** Turns a question's statistic into lines of labelled counts, independent of its type. */
export function tableOf(summary: QuestionSummary, words: TableWords = english): QuestionTable {
  const { question, statistic } = summary;
  const { responseCount: answered, skippedCount: skipped, notAskedCount: notAsked = 0 } = statistic;
  const { baseByRow, topWords, nps } = statistic;
  const takesSeveral = question.rows.some((row) => isOfSeveral(question, row.id));
  // Parts of a whole are drawn only if each respondent gives one answer.
  const chart = takesSeveral ? 'bars' : registry[question.type].chart;
  const base = { question, answered, skipped, notAsked, nps, chart, measures: measuresOf(summary) };
  if (topWords) return { ...base, heading: 'Word', lines: [{ label: '', cells: wordCells(statistic, words) }] };
  const named = outerNames(question);
  const entries = inRanges(named, inReadingOrder(named, statistic.distribution), keysShown);
  const nested = entries.flatMap(([key, value]) =>
    typeof value === 'number'
      ? []
      : [{ label: lineLabel(question, key), counts: value, base: baseByRow?.[key] ?? answered }],
  );
  const isGrid = question.rows.length > 0;
  if (nested.length > 0)
    return {
      ...base,
      heading: isGrid ? 'Answer' : 'Rank',
      lines: alignedLines(question, nested),
    };
  const days = isOfDays(question) ? daysIn(entries) : undefined;
  if (days) {
    const timeline = timelineOf(days, keysShown);
    const shown =
      days.length > keysShown
        ? timeline
        : days.map(([label, count]) => ({ label, count })).sort((one, other) => (one.label < other.label ? -1 : 1));
    return {
      ...base,
      heading: 'Answer',
      timeline,
      lines: [{ label: '', cells: shown.map(({ label, count }) => cellOf(label, count, answered)) }],
    };
  }
  const cells = entries.flatMap(([key, count]) =>
    typeof count === 'number' ? [cellOf(wordingOf(question.options, key, words.Other), count, answered)] : [],
  );
  return {
    ...base,
    heading: 'Answer',
    lines: [{ label: '', cells: withRest(cells, words, { answered, beyond: statistic.otherAnswers ?? 0 }) }],
  };
}

/** Whether answers are dates; values of options may only look like dates. */
const isOfDays = (question: Question): boolean =>
  registry[question.type].exportColumns(question).some(({ cell }) => cell.kind === 'text' && cell.form === 'date');

const cellOf = (label: string, count: number, base: number): TableCell => ({
  label,
  count,
  percent: base === 0 ? 0 : (count / base) * 100,
});

const restLabel = ({ rest }: TableWords, kinds: number): string => `${rest} (${kinds})`;

/** Each use of a word counts, so words have no percentage of respondents. */
function wordCells({ topWords = [], otherWords }: QuestionSummary['statistic'], words: TableWords): TableCell[] {
  const further = topWords.slice(wordsShown);
  const kinds = further.length + (otherWords?.words ?? 0);
  const rest = further.reduce((sum, { count }) => sum + count, otherWords?.count ?? 0);
  const shown = topWords
    .slice(0, wordsShown)
    .map(({ word, count }): TableCell => ({ label: word, count, percent: null }));
  return kinds === 0 ? shown : [...shown, { label: restLabel(words, kinds), count: rest, percent: null, isRest: true }];
}

/** The most frequent cells that there is room for, in their order, and the sum of the others. */
function withRest(
  cells: readonly TableCell[],
  words: TableWords,
  /** `beyond`: answers that are not among the cells. */
  { answered, beyond }: { answered: number; beyond: number },
): TableCell[] {
  const { shown, rest } = mostFrequent(cells, keysShown);
  if (rest.length === 0) return shown;
  return [
    ...shown,
    {
      ...cellOf(
        restLabel(words, rest.length),
        rest.reduce((sum, { count }) => sum + count, beyond),
        answered,
      ),
      isRest: true,
    },
  ];
}

/** Gives all lines the same labels (a hidden option appears only where it was chosen). */
function alignedLines(
  question: Question,
  nested: readonly { label: string; counts: Record<string, number>; base: number }[],
): QuestionTable['lines'] {
  const keys = inReadingOrder(innerNames(question), Object.assign({}, ...nested.map(({ counts }) => counts))).map(
    ([key]) => key,
  );
  const nameOf = (key: string) => (question.rows.length > 0 ? wordingOf(question.options, key) : key);
  return nested.map(({ label, counts, base }) => {
    // An option may be called “constructor”, which every object has.
    const own = new Map(Object.entries(counts));
    return { label, cells: keys.map((key) => cellOf(nameOf(key), own.get(key) ?? 0, base)) };
  });
}
