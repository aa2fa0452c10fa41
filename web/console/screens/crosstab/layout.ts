import { readable } from '../../../../src/domain/path/placeholders.ts';
import type { Crosstab, CrosstabCell, CrosstabHead, CrosstabTable } from '../../data/crosstab.ts';
import { columnName, type NumberFormat } from '../../parts/sheet.ts';

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

const shownHead = (head: CrosstabHead): CrosstabHead => ({ ...head, text: readable(head.text) });

/** The tables of a reply side by side, under the names of their variables. Letters run through all of them. */
export function groupsOf({ banner = [], ...first }: Crosstab, keys: readonly string[], titles: readonly string[]) {
  let at = 0;
  return [first, ...banner].map((table, index): ShownGroup => {
    const columns = table.columns.map((head) => ({
      ...shownHead(head),
      letter: columnName(at++),
      isSmall: head.effectiveBase < smallBase,
    }));
    return {
      key: keys[index] ?? String(index),
      title: titles[index] ?? '',
      table: { ...table, rows: table.rows.map(shownHead) },
      columns,
      letters: new Map(columns.map(({ value, letter }) => [value, letter])),
    };
  });
}

/** Names the variables of which not all columns were compared; undefined if there are none. */
export function partlyComparedText(groups: readonly ShownGroup[]): string | undefined {
  const titles = groups.filter(({ table }) => table.isPartlyCompared).map(({ title }) => title);
  return titles.length === 0
    ? undefined
    : `Not all columns that share respondents are compared, as exact tests would take too long: ${titles.join('; ')}.`;
}

const percent = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const fraction = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

const percentText = (value: number): string => `${percent.format(value)}%`;
export const countText = (value: number): string => whole.format(value);
/** Sums of weights and effective bases: one decimal, or three significant digits below 1, where one might show 0. */
export const sumText = (value: number): string => (value > 0 && value < 1 ? fraction : percent).format(value);

/** A measure of a cell, unrounded; percentages from 0 to 100. */
export function cellValue(cell: CrosstabCell, measure: Measure, isWeighted: boolean): number {
  if (measure === 'unweighted') return cell.count;
  if (measure === 'count') return isWeighted ? cell.weightedCount : cell.count;
  return cell[measure];
}

export function formatOf(measure: Measure, isWeighted: boolean): keyof typeof texts {
  if (measure === 'unweighted') return 'whole';
  if (measure === 'count') return isWeighted ? 'oneDecimal' : 'whole';
  return 'percent';
}

const texts = {
  whole: countText,
  oneDecimal: sumText,
  percent: percentText,
} as const satisfies Partial<Record<NumberFormat, (value: number) => string>>;

/** A measure of a cell as the table shows it. */
export function cellText(cell: CrosstabCell, measure: Measure, isWeighted: boolean): string {
  return texts[formatOf(measure, isWeighted)](cellValue(cell, measure, isWeighted));
}

/** The cell of a row in the column “Total”, which holds all columns of a group. */
export function totalCell({ total, weightedTotal }: CrosstabHead, { table }: ShownGroup): CrosstabCell {
  const share = table.weightedTotal > 0 ? (weightedTotal / table.weightedTotal) * 100 : 0;
  return {
    count: total,
    weightedCount: weightedTotal,
    columnPercent: share,
    rowPercent: weightedTotal > 0 ? 100 : 0,
    totalPercent: share,
    significantOver: [],
  };
}

/** The letters of the columns that a cell exceeds significantly. */
export const lettersOf = ({ significantOver }: CrosstabCell, { letters }: ShownGroup): string =>
  significantOver.map((value) => letters.get(value) ?? value).join(' ');
