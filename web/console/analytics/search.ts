import { day, oneOf, text, texts } from '../app/search.ts';
import type { Selection } from '../data/analytics.ts';

/** What the address of a view of results names: the responses that count, and how they are laid beside one another. */
export interface AnalysisSearch {
  /** First and last day (UTC), `YYYY-MM-DD`. */
  from?: string | undefined;
  to?: string | undefined;
  /** Filters as the API names them: `questionId:value`, `collector:ID`, `outcome:COMPLETED`. */
  filter?: string[] | undefined;
  base?: 'asked' | undefined;
  /** The key of the variable whose values are laid beside one another. */
  compare?: string | undefined;
}

/** As many filters as the API takes; the value of a group that is compared is one of them. */
export const mostFilters = 20;

export function analysisSearch(search: Record<string, unknown>): AnalysisSearch {
  const filter = texts(search['filter'])?.slice(0, mostFilters);
  return {
    from: day(search['from']),
    to: day(search['to']),
    filter,
    base: oneOf(['asked'], search['base']),
    compare: filter?.length === mostFilters ? undefined : text(search['compare']),
  };
}

/** The responses that an address selects, and of these those that fit a further filter. */
export function selectionOf({ from, to, filter = [], base }: AnalysisSearch, further?: string): Selection {
  const filters = further === undefined ? filter : [...filter, further];
  return {
    ...(from !== undefined && { startDate: from }),
    ...(to !== undefined && { endDate: to }),
    ...(filters.length > 0 && { filter: filters }),
    ...(base !== undefined && { base }),
  };
}

export const isSelecting = ({ from, to, filter }: AnalysisSearch): boolean =>
  from !== undefined || to !== undefined || filter !== undefined;
