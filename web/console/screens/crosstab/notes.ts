import type { FilterVariables } from '../../analytics/use-filter-variables.ts';
import { filterText } from '../../analytics/variables.ts';
import { partlyComparedText, type ShownGroup, smallBase } from './layout.ts';
import { type CrosstabSearch, correctionNames, levelText } from './search.ts';
import type { Variable } from './variables.ts';

/** The names for what an address names. */
export interface Names extends FilterVariables {
  weights: readonly Variable[];
}

/** What a file says about how its table was counted: which responses, weights, tests, and when. */
export function notesOf(
  search: CrosstabSearch,
  { variables, found, weights }: Names,
  { countedAt, isCompared, groups }: { countedAt: Date; isCompared: boolean; groups: readonly ShownGroup[] },
): string[] {
  const { from, to, filter = [], weight, weightKey, level = '0.95', correction = 'none', skipped } = search;
  const responses = [
    from !== undefined && `from ${from} (UTC)`,
    to !== undefined && `to ${to} (UTC)`,
    ...filter.map((one) => filterText(variables, one, found.variables)),
  ].filter((part) => part !== false);
  const weightName =
    weight !== undefined
      ? (weights.find(({ key }) => key === weight)?.label ?? weight)
      : weightKey !== undefined
        ? `key “${weightKey}” of the metadata`
        : 'none';
  const partlyCompared = partlyComparedText(groups);
  return [
    `Responses: ${responses.length > 0 ? responses.join('; ') : 'all'}${skipped ? '; skipped as a category' : ''}`,
    [
      `Weight: ${weightName}`,
      ...(isCompared
        ? [`Confidence: ${levelText(level)}`, `Correction: ${correctionNames[correction]}`]
        : ['Significance: not tested, too many columns']),
      `Small base: below ${smallBase}`,
      `Counted: ${countedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    ].join(' · '),
    ...(partlyCompared === undefined ? [] : [partlyCompared]),
  ];
}
