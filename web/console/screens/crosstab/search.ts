import { type AnalysisSearch, analysisSearch, selectionOf } from '../../analytics/search.ts';
import { oneOf, text, texts } from '../../app/search.ts';
import type { CrosstabRequest } from '../../data/crosstab.ts';

export const levels = ['0.9', '0.95', '0.99'] as const;
export const levelText = (level: (typeof levels)[number]): string => `${Math.round(Number(level) * 100)} %`;

export const corrections = ['none', 'bonferroni', 'fdr'] as const;

export const correctionNames = {
  none: 'None',
  bonferroni: 'Bonferroni',
  fdr: 'Benjamini–Hochberg',
} as const satisfies Record<(typeof corrections)[number], string>;

/** What the address of a crosstab names. */
export interface CrosstabSearch extends Pick<AnalysisSearch, 'from' | 'to' | 'filter'> {
  /** The key of the variable in rows. */
  rows?: string | undefined;
  /** Keys of the variables in columns. */
  columns?: string[] | undefined;
  /** A NUMBER question whose answers are weights. */
  weight?: string | undefined;
  /** A key of the metadata whose values are weights; not together with `weight`. */
  weightKey?: string | undefined;
  level?: (typeof levels)[number] | undefined;
  correction?: (typeof corrections)[number] | undefined;
  /** The measures in each cell; column percentages and counts if undefined. */
  show?: string[] | undefined;
  /** Whether those who skipped a question are a category of it. */
  skipped?: boolean | undefined;
}

export function crosstabSearch(search: Record<string, unknown>): CrosstabSearch {
  const { from, to, filter } = analysisSearch(search);
  return {
    from,
    to,
    filter,
    rows: text(search['rows']),
    columns: texts(search['columns']),
    weight: text(search['weight']),
    weightKey: text(search['weightKey']),
    level: oneOf(levels, String(search['level'])),
    correction: oneOf(corrections, search['correction']),
    show: texts(search['show']),
    skipped: search['skipped'] === true || undefined,
  };
}

/** What the address names, by its keys. */
export const keysOf = ({ rows, columns = [], weight, filter = [] }: CrosstabSearch): (string | undefined)[] => [
  rows,
  ...columns,
  weight,
  ...filter,
];

/** A variable as a request of a crosstab names it. */
interface NamedVariable {
  questionId: string;
  rowId?: string;
}

function namedVariable(key: string): NamedVariable {
  const [questionId = '', rowId] = key.split('~');
  return rowId === undefined ? { questionId } : { questionId, rowId };
}

/** The call for what the address names; undefined while rows or columns are not chosen. */
export function requestOf(search: CrosstabSearch): CrosstabRequest | undefined {
  const { rows, columns: [first, ...banner] = [], weight, weightKey, level, correction, skipped } = search;
  if (rows === undefined || first === undefined) return undefined;
  const [row, column] = [namedVariable(rows), namedVariable(first)];
  const { filter: filters, ...days } = selectionOf({ from: search.from, to: search.to, filter: search.filter });
  return {
    questionId1: row.questionId,
    ...(row.rowId !== undefined && { rowId1: row.rowId }),
    questionId2: column.questionId,
    ...(column.rowId !== undefined && { rowId2: column.rowId }),
    ...(banner.length > 0 && {
      banner: banner.map((key) => {
        const { questionId, rowId } = namedVariable(key);
        return rowId === undefined ? questionId : { questionId, rowId };
      }),
    }),
    ...(weight !== undefined && { weightQuestionId: weight }),
    ...(weightKey !== undefined && weight === undefined && { weightMetadataKey: weightKey }),
    ...(level !== undefined && { significance: Number(level) }),
    ...(correction !== undefined && correction !== 'none' && { correction }),
    ...(skipped && { includeSkipped: true }),
    ...days,
    ...(filters && { filters }),
  };
}
