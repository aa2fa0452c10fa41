import type { Crosstab, CrosstabCell, CrosstabHead, CrosstabTable } from '../../data/crosstab.ts';

export const measures = ['columnPercent', 'rowPercent', 'totalPercent', 'count', 'unweighted'] as const;
export type Measure = (typeof measures)[number];

export const measureNames: Readonly<Record<Measure, string>> = {
  columnPercent: 'Column %',
  rowPercent: 'Row %',
  totalPercent: 'Total %',
  count: 'Count',
  unweighted: 'Unweighted count',
};

/** Below this effective base the percentages of a column say little. */
export const smallBase = 30;

export interface ShownColumn extends CrosstabHead {
  /** A, B … Z, AA …: the name of the column in the tests of significance. */
  letter: string;
  isSmall: boolean;
}

/** A variable in columns with the cells below it. */
export interface ShownGroup {
  key: string;
  title: string;
  table: CrosstabTable;
  columns: ShownColumn[];
  /** The letter of each column by its value. */
  letters: ReadonlyMap<string, string>;
}

/** The tables of a reply side by side, under the names of their variables. Letters run through all of them. */
export function groupsOf({ banner = [], ...first }: Crosstab, keys: readonly string[], titles: readonly string[]) {
  let at = 0;
  return [first, ...banner].map((table, index): ShownGroup => {
    const columns = table.columns.map((head) => ({
      ...head,
      letter: letterOf(at++),
      isSmall: head.effectiveBase < smallBase,
    }));
    return {
      key: keys[index] ?? String(index),
      title: titles[index] ?? '',
      table,
      columns,
      letters: new Map(columns.map(({ value, letter }) => [value, letter])),
    };
  });
}

/** As spreadsheets name their columns, from 0: A, B … Z, AA, AB … */
export function letterOf(index: number): string {
  const rest = Math.floor(index / 26);
  return (rest > 0 ? letterOf(rest - 1) : '') + String.fromCharCode(65 + (index % 26));
}

const percent = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const percentText = (value: number): string => `${percent.format(value)}%`;
export const countText = (value: number): string => whole.format(value);
/** Sums of weights and effective bases, with one decimal. */
export const sumText = (value: number): string => percent.format(value);

/** A measure of a cell as the table shows it. */
export function cellText(cell: CrosstabCell, measure: Measure, isWeighted: boolean): string {
  if (measure === 'unweighted') return countText(cell.count);
  if (measure === 'count') return isWeighted ? sumText(cell.weightedCount) : countText(cell.count);
  return percentText(cell[measure]);
}

/** The letters of the columns that a cell exceeds significantly. */
export const lettersOf = ({ significantOver }: CrosstabCell, { letters }: ShownGroup): string =>
  significantOver.map((value) => letters.get(value) ?? value).join(' ');
