import type { QuestionStatistic } from '../data/analytics.ts';
import type { Question } from '../data/questions.ts';

/** The days, domains, media types or words that a question shows, the same ones for all groups that are compared. */
export interface KeyList {
  keys: readonly string[];
  /** Whether any of the groups has answers with other keys. */
  hasRest: boolean;
}

type Counts = ReadonlyMap<string, number>;

/** As many different keys stand in a list; the rest is counted together. */
const mostListed = 30;

/** The counts that a statistic names, and how many answers, or mentions of words, it does not. */
function namedCounts({ topWords, otherWords, distribution, otherAnswers = 0 }: QuestionStatistic): [Counts, number] {
  if (topWords) return [new Map(topWords.map(({ word, count }) => [word, count])), otherWords?.count ?? 0];
  return [new Map(Object.entries(distribution as Record<string, number>)), otherAnswers];
}

const listedTypes: readonly Question['type'][] = ['DATE', 'EMAIL', 'FILE_UPLOAD', 'SHORT_TEXT', 'LONG_TEXT'];

/** The last days, or the most frequent other keys, of all statistics together; empty for types without such a list. */
export function keyListOf({ type }: Question, statistics: readonly QuestionStatistic[]): KeyList {
  if (!listedTypes.includes(type)) return { keys: [], hasRest: false };
  const sums = new Map<string, number>();
  const named = statistics.map(namedCounts);
  for (const [counts] of named) for (const [key, count] of counts) sums.set(key, (sums.get(key) ?? 0) + count);
  const byFrequency = () => [...sums].sort(([, one], [, other]) => other - one).map(([key]) => key);
  const keys = type === 'DATE' ? [...sums.keys()].sort().slice(-mostListed) : byFrequency().slice(0, mostListed);
  return { keys, hasRest: sums.size > keys.length || named.some(([, unnamed]) => unnamed > 0) };
}

/**
 * The counts of a statistic for a list, and of its answers with other keys. Null: not known, since the statistic does not
 * name all of its keys.
 */
export function countsIn({ keys }: KeyList, statistic: QuestionStatistic): { counts: (number | null)[]; rest: number } {
  const [named, unnamed] = namedCounts(statistic);
  const counts = keys.map((key) => named.get(key) ?? (unnamed > 0 ? null : 0));
  const listed = counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const all = [...named.values()].reduce((sum, count) => sum + count, unnamed);
  return { counts, rest: all - listed };
}
