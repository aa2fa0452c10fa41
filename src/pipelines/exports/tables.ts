import { otherCategory } from '../../domain/questions/choice.ts';
import { otherValue, type ChartKind, type TypeStatistic } from '../../domain/questions/contract.ts';
import { pointsOf } from '../../domain/questions/ordered-options.ts';
import { innerNames, inRanges, inReadingOrder, outerNames } from '../../domain/questions/reading-order.ts';
import { registry } from '../../domain/questions/registry.ts';
import { visibleOptions, type Question } from '../../domain/survey.ts';
import type { Summary } from './summary.ts';

/** A share of answers: `percent` is of those who answered the question, or, where a row takes one answer, of those who answered the row. */
export interface TableCell {
  label: string;
  count: number;
  percent: number;
}

/** The figures of one question, ready to be drawn or written. */
export interface QuestionTable {
  question: Question;
  chart: ChartKind;
  answered: number;
  skipped: number;
  /** Means and the like, in the order in which they are read; percentages and scores with one decimal, others with at most two. */
  figures: { name: FigureName; of?: string; value: string }[];
  /** One line for most types; a line a row of a MATRIX or an item of a RANKING. All lines have the same labels. */
  lines: { label: string; cells: TableCell[] }[];
  nps: TypeStatistic['nps'];
  /** What the cells count. */
  heading: string;
}

export type FigureName = 'NPS' | 'Mean' | 'Median' | 'Standard deviation' | 'Minimum' | 'Maximum' | 'Top box' | 'Bottom box';

type QuestionSummary = Summary['questions'][number];
const wordsShown = 15;
const keysShown = 40;

/** Turns a question's statistic into lines of labelled counts, without asking for its type; `other` names the free answers. */
export function tableOf({ question, statistic }: QuestionSummary, other = otherCategory.text): QuestionTable {
  const { responseCount: answered, skippedCount: skipped, topWords, nps } = statistic;
  const takesSeveral = question.rows.some((row) => isOfSeveral(question, row.id));
  // Parts of a whole only where everybody gives one answer.
  const chart = takesSeveral ? 'bars' : registry[question.type].chart;
  const base = { question, answered, skipped, nps, chart, figures: figuresOf(question, statistic) };
  if (topWords) return { ...base, heading: 'Word', lines: [{ label: '', cells: topWords.slice(0, wordsShown).map(({ word, count }) => cellOf(word, count, answered)) }] };
  const entries = inRanges(inReadingOrder(outerNames(question), statistic.distribution), keysShown);
  const nested = entries.flatMap(([key, value]) => (typeof value === 'number' ? [] : [{ label: lineLabel(question, key), counts: value }]));
  if (nested.length > 0) return { ...base, heading: question.rows.length > 0 ? 'Answer' : 'Rank', lines: alignedLines(question, nested, takesSeveral ? answered : undefined) };
  const cells = entries.flatMap(([key, count]) => (typeof count === 'number' ? [cellOf(answerLabel(question, key, other), count, answered)] : []));
  return { ...base, heading: 'Answer', lines: [{ label: '', cells: cells.length > keysShown ? largest(cells) : cells }] };
}

const cellOf = (label: string, count: number, base: number): TableCell => ({ label, count, percent: base === 0 ? 0 : (count / base) * 100 });

/** Those there is room for, in their order. */
function largest(cells: readonly TableCell[]): TableCell[] {
  const shown = new Set([...cells].sort((a, b) => b.count - a.count).slice(0, keysShown));
  return cells.filter((cell) => shown.has(cell));
}

/** Lines that name different keys (a hidden option shows only where it was chosen) get the same ones. */
function alignedLines(question: Question, nested: readonly { label: string; counts: Record<string, number> }[], shared: number | undefined): QuestionTable['lines'] {
  const keys = inReadingOrder(innerNames(question), Object.assign({}, ...nested.map(({ counts }) => counts))).map(([key]) => key);
  const nameOf = (key: string) => (question.rows.length > 0 ? answerLabel(question, key) : key);
  return nested.map(({ label, counts }) => {
    const base = shared ?? Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { label, cells: keys.map((key) => cellOf(nameOf(key), counts[key] ?? 0, base)) };
  });
}

function isOfSeveral(question: Question, row: string): boolean {
  const dimension = registry[question.type].dimension(question, row);
  return typeof dimension !== 'string' && dimension.source.kind === 'bits';
}

/** Whether a mean of points says anything: only of columns that are worded as their points is it sure that they are a scale. */
const areNumbered = (question: Question): boolean => visibleOptions(question).every(({ text, code }) => text.trim() === String(pointsOf(question).get(code)));

const lineLabel = ({ rows, options }: Question, key: string): string => [...rows, ...options].find(({ value }) => value === key)?.text ?? key;

function answerLabel({ options }: Question, key: string, other = otherCategory.text): string {
  return options.find(({ value }) => value === key)?.text ?? (key === otherValue ? other : key.replace(bin, (_, low, high) => `${rounded(Number(low))}–${rounded(Number(high))}`));
}

/** A range of numbers whose borders may have many digits. */
const bin = /^(-?[\d.]+)–(-?[\d.]+)$/;

function figuresOf(question: Question, statistic: QuestionSummary['statistic']): QuestionTable['figures'] {
  const { averageValue, medianValue, standardDeviation, minValue, maxValue, nps, topBox, bottomBox, averageRank, averageByRow } = statistic;
  const named: [FigureName, number | null | undefined, string?][] = [
    ['NPS', nps?.score], ['Mean', averageValue], ['Median', medianValue], ['Standard deviation', standardDeviation], ['Minimum', minValue], ['Maximum', maxValue],
    ['Top box', topBox?.percent, ' %'], ['Bottom box', bottomBox?.percent, ' %'],
  ];
  const isScale = averageByRow !== undefined && areNumbered(question) && !question.rows.some((row) => isOfSeveral(question, row.id));
  const means = inReadingOrder(outerNames(question), averageRank ?? (isScale ? averageByRow : {}));
  return [
    ...named.flatMap(([name, value, unit = '']) => (typeof value === 'number' ? [{ name, value: rounded(value) + unit }] : [])),
    ...means.flatMap(([key, value]) => (value === null ? [] : [{ name: 'Mean' as const, of: lineLabel(question, key), value: rounded(value) }])),
  ];
}

export const rounded = (value: number): string => String(Math.round(value * 100) / 100);
