import { validationProblem } from '../../errors.ts';
import type { SlicedWork } from '../../platform/slices.ts';
import type { Category, Dimension } from '../questions/contract.ts';
import { hasOverlaps } from '../questions/contract.ts';
import { sliceAssociation, type TableWeights } from './chi-square.ts';
import { type CrosstabCounts, nobody, type Sum, sumsOf } from './crosstab-counts.ts';
import type { StepBudget } from './exact-tests.ts';
import {
  type ComparedColumn,
  type Correction,
  compareColumns,
  comparisonsIn,
  maxComparisons,
  maxComparisonsInRow,
  maxExactSteps,
} from './significance.ts';

/** A table of this size takes about 6 MB as JSON. */
const defaultMaxCells = 50_000;
/**
 * Maximum characters of column names in `significantOver`, as each comparison may name a column; about the size of
 * 50,000 cells.
 */
const maxNameCharacters = 6_000_000;
const defaultLevel = 0.95;

/** How the columns of a table are compared; default: confidence level 0.95 without a correction. */
export interface ComparisonOptions {
  significance?: number | undefined;
  correction?: Correction | undefined;
  /** Maximum cells of all tables together; default 50,000. */
  maxCells?: number | undefined;
  /** Maximum steps of exact tests of overlapping columns in all tables together; default 100,000,000. */
  maxExactSteps?: number | undefined;
}

/** The counts of a table with its column variable. */
export interface CountedTable extends CrosstabCounts {
  columns: Dimension;
}

/**
 * Tables with the same row variable. Throws VALIDATION_ERROR above `maxCells`. Percentages (0–100) refer to the
 * respondents who answered both questions, weighted if there are weights; with multiple answers their sum may exceed
 * 100. Columns are compared by their percentages and effective bases. Above 1,000,000 comparisons, 20,000 of one row or
 * 6,000,000 characters of column names the comparison is omitted in all tables (`isCompared`), or refused with
 * VALIDATION_ERROR if it was requested. The steps of exact tests of overlapping columns are shared out evenly, the
 * tables with the fewest comparisons first, which leave what they do not need to the others; `isPartlyCompared` says
 * where tests were left out. A table that is given several times is computed once.
 * Cramér's V uses the (weighted) counts shown; chi-square is corrected for weights.
 */
export function* sliceTables(
  rows: Dimension,
  tables: readonly CountedTable[],
  comparison: ComparisonOptions,
): SlicedWork<PresentedTable[]> {
  // Deleted options are shown in all tables if any response of the survey chose them, so that the rows are the same
  // under every filter.
  const isChosen = (code: number) =>
    tables.some(({ rowTotals, chosenInSurvey }) => (rowTotals.get(code) ?? 0) > 0 || chosenInSurvey?.rows?.has(code));
  const categories = rows.categories.filter(({ code, isHidden }) => isHidden !== true || isChosen(code));
  const laidOut = new Map<CountedTable, TableLayout>();
  for (const table of new Set(tables)) laidOut.set(table, yield* layOutTable({ ...rows, categories }, table));
  const layouts = tables.flatMap((table) => laidOut.get(table) ?? []);
  refuseTooManyCells(
    layouts[0]?.rows.length ?? 0,
    layouts.map((table) => table.columns.length),
    comparison.maxCells,
  );
  const isCompared = isComparable(layouts, comparison);
  const presented = new Map<TableLayout, PresentedTable>();
  const waiting = [...laidOut.values()].sort((one, other) => comparisonsOf(one) - comparisonsOf(other));
  let left = comparison.maxExactSteps ?? maxExactSteps;
  for (const [index, table] of waiting.entries()) {
    const share = Math.floor(left / (waiting.length - index));
    const budget = { left: share, isCut: false };
    presented.set(table, yield* presentTable(table, isCompared ? { ...comparison, budget } : undefined));
    left -= share - budget.left;
  }
  return layouts.flatMap((table) => presented.get(table) ?? []);
}

/** Header cells and sums of a table, before its cells are computed. */
interface TableLayout {
  rows: readonly HeaderCell[];
  columns: readonly HeaderCell[];
  sums: Sliced<ReturnType<typeof sumsOf>>;
  /** Whether each respondent is in one cell. */
  isExclusive: boolean;
  /** Undefined without a weight. */
  unweightable: number | undefined;
}

const comparisonsOf = ({ rows, columns }: TableLayout): number => comparisonsIn(rows.length, columns.length);

function* layOutTable(rows: Dimension, { columns, ...counts }: CountedTable): SlicedWork<TableLayout> {
  const sums = yield* sumsOf(counts);
  const heads = columns.categories.map((category) => ({ ...category, ...sums.column(category.code) }));
  return {
    rows: rows.categories.map((category) => ({ ...category, ...sums.row(category.code) })),
    columns: heads.filter(
      ({ code, count, isHidden }) => count > 0 || isHidden !== true || counts.chosenInSurvey?.columns?.has(code),
    ),
    sums,
    isExclusive: !hasOverlaps(rows) && !hasOverlaps(columns),
    unweightable: counts.weighted?.unweightable,
  };
}

/** Throws VALIDATION_ERROR before counting if the visible categories alone give too many cells. */
export function refuseTooLarge(rows: Dimension, columns: readonly Dimension[], maxCells?: number): void {
  const shownIn = ({ categories }: Dimension): number => categories.filter(({ isHidden }) => isHidden !== true).length;
  refuseTooManyCells(shownIn(rows), columns.map(shownIn), maxCells);
}

function refuseTooManyCells(rows: number, columnsByTable: readonly number[], maxCells = defaultMaxCells): void {
  const columns = columnsByTable.reduce((sum, count) => sum + count, 0);
  if (rows * columns <= maxCells) return;
  throw validationProblem([
    {
      path: columnsByTable.length > 1 ? 'banner' : 'questionId2',
      message: `there would be ${rows} rows and ${columns} columns; a table can have ${maxCells} cells at most`,
    },
  ]);
}

/** Whether the comparison stays within its limits. Throws VALIDATION_ERROR if it does not and was requested. */
function isComparable(tables: readonly TableLayout[], { significance, correction }: ComparisonOptions): boolean {
  const compared = tables.map(({ rows, columns }) => ({
    rows: rows.length,
    columns: columns.filter(({ count }) => count > 0),
  }));
  const comparisons = sum(compared.map(({ rows, columns }) => comparisonsIn(rows, columns.length)));
  const namesIn = ({ rows, columns }: (typeof compared)[number]) =>
    (comparisonsIn(rows, columns.length) * sum(columns.map(({ value }) => value.length))) / Math.max(1, columns.length);
  const names = Math.ceil(sum(compared.map(namesIn)));
  const inRow = Math.max(0, ...compared.map(({ columns }) => comparisonsIn(1, columns.length)));
  const message = comparisonLimitMessage(comparisons, inRow, names);
  if (message === undefined) return true;
  if (significance === undefined && correction === undefined) return false;
  throw validationProblem([{ path: significance === undefined ? 'correction' : 'significance', message }]);
}

function comparisonLimitMessage(comparisons: number, inRow: number, nameCharacters: number): string | undefined {
  if (comparisons > maxComparisons)
    return `the columns would take ${comparisons} comparisons; there can be ${maxComparisons} at most`;
  if (inRow > maxComparisonsInRow)
    return `the columns of a row would take ${inRow} comparisons; there can be ${maxComparisonsInRow} at most`;
  return nameCharacters > maxNameCharacters
    ? `the names of the columns could take ${nameCharacters} characters; there can be ${maxNameCharacters} at most`
    : undefined;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** Shared by the cells: a table has up to 50,000 of them. */
const noColumns: string[] = [];

export type PresentedTable = Sliced<ReturnType<typeof presentTable>>;
type Sliced<Work> = Work extends SlicedWork<infer Result> ? Result : never;

function* presentTable(layout: TableLayout, comparison: (ComparisonOptions & { budget: StepBudget }) | undefined) {
  const { rows, columns, sums, unweightable } = layout;
  const table: Sum[][] = [];
  for (const row of rows) {
    table.push(columns.map((column) => sums.cell(row.code, column.code)));
    yield;
  }
  const over =
    comparison &&
    (yield* compareColumns(
      columns.map((head, c) => comparedColumn(head, table, c)),
      rows.length,
      { level: comparison.significance ?? defaultLevel, correction: comparison.correction },
      (one, other) => sharedBy(layout, one, other),
      comparison.budget,
    ));
  const cells = [];
  for (const [r, line] of table.entries()) {
    cells.push(
      line.map(({ count, weight }, c) => ({
        count,
        weightedCount: weight,
        rowPercent: percent(weight, rows[r]?.weight ?? 0),
        columnPercent: percent(weight, columns[c]?.weight ?? 0),
        totalPercent: percent(weight, sums.total.weight),
        significantOver: over?.[r]?.[c] ?? noColumns,
      })),
    );
    yield;
  }
  const weights = table.map((line) => line.map(({ weight }) => weight));
  yield;
  const ofCells = tableWeights(layout, table);
  yield;
  const association = yield* sliceAssociation(weights, ofCells);
  return {
    rows: rows.map(presentHeader),
    columns: columns.map(presentHeader),
    cells,
    isCompared: comparison !== undefined,
    ...(comparison?.budget.isCut && { isPartlyCompared: true as const }),
    total: sums.total.count,
    weightedTotal: sums.total.weight,
    effectiveBase: sums.total.effectiveBase,
    ...association,
    ...(unweightable !== undefined && { unweightable }),
  };
}

function tableWeights(
  { sums, isExclusive, unweightable }: TableLayout,
  table: readonly (readonly Sum[])[],
): TableWeights | undefined {
  if (unweightable === undefined) return undefined;
  return isExclusive
    ? { squares: table.map((line) => line.map(({ squares }) => squares)) }
    : { scale: sums.total.weight > 0 ? sums.total.effectiveBase / sums.total.weight : 1 };
}

/** The respondents that two columns, by index, have in common. */
function sharedBy({ columns, sums }: TableLayout, first: number, second: number): Sum {
  const [one, other] = [columns[first], columns[second]];
  return one && other ? sums.overlap(one.code, other.code) : nobody;
}

type HeaderCell = Category & Sum;

const presentHeader = ({ value, text, count, weight, effectiveBase }: HeaderCell) => ({
  value,
  text,
  total: count,
  weightedTotal: weight,
  effectiveBase,
});

/** Clamped, because rounding of weight sums can make a part exceed the whole. */
const share = (part: number, whole: number): number => (whole === 0 ? 0 : Math.min(1, part / whole));
const percent = (part: number, whole: number): number => (whole === 0 ? 0 : Math.min(100, (part / whole) * 100));

function comparedColumn(
  { value, count, weight, squares, effectiveBase }: HeaderCell,
  table: readonly (readonly Sum[])[],
  column: number,
): ComparedColumn {
  const shares = table.map((line) => share(line[column]?.weight ?? 0, weight));
  return { value, count, weight, squares, effectiveBase, shares };
}
