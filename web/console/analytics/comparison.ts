import type { SurveyStatistics } from '../data/analytics.ts';
import type { FilterVariable } from './variables.ts';

/** As many groups can be laid beside one another. */
const mostGroups = 8;
/** As many groups that are left out are named; the others are counted. */
const mostNamed = 12;

type Group = FilterVariable['values'][number];

export interface ComparedGroups {
  shown: readonly Group[];
  leftOut: readonly Group[];
}

const none: ComparedGroups = { shown: [], leftOut: [] };

/** How many responses have a value of a variable. */
type CountOf = (value: string) => number;

/**
 * The groups of a comparison: all of the variable, or where these are too many, the ones that most responses fall into,
 * in their usual order; none of so many before the responses are counted.
 */
export function comparedGroups(variable: FilterVariable | undefined, countOf: CountOf | undefined): ComparedGroups {
  const groups = variable?.groups ?? variable?.values ?? [];
  if (groups.length <= mostGroups) return { shown: groups, leftOut: [] };
  if (!countOf) return none;
  const byCount = [...groups].sort((one, other) => countOf(other.value) - countOf(one.value));
  const kept = new Set(byCount.slice(0, mostGroups));
  return { shown: groups.filter((group) => kept.has(group)), leftOut: groups.filter((group) => !kept.has(group)) };
}

/** The counts of the variable itself, where it has any, or those of the statistics. */
export function countsBy(
  { key, counts: own }: FilterVariable,
  { collectors, questionStats }: SurveyStatistics,
): CountOf {
  if (own) return (value) => own.get(value) ?? 0;
  if (key === 'collector')
    return (value) => collectors.find(({ collectorId }) => collectorId === value)?.responseCount ?? 0;
  const question = questionStats.find(({ questionId }) => key.startsWith(questionId));
  const counts = question?.distribution as Record<string, number | Record<string, number>> | undefined;
  const ofRow = counts?.[key.slice(key.indexOf(':') + 1)];
  return (value) => {
    const count = typeof ofRow === 'object' ? ofRow[value] : counts?.[value];
    // A RANKING is compared by the item in the first place.
    return (typeof count === 'object' ? count['1'] : count) ?? 0;
  };
}

/** What a comparison does not show; empty where it shows everything. */
export function leftOutText({ shown, leftOut }: ComparedGroups): string {
  if (leftOut.length === 0) return '';
  const names = leftOut.slice(0, mostNamed).map(({ label }) => label);
  const more = leftOut.length - names.length;
  const all = more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
  return `${shown.length} of ${shown.length + leftOut.length} groups are compared. Left out: ${all}.`;
}
