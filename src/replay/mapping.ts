import type { DecimalMark } from './decimals.ts';
import type { GivenDayOrder, ReplayedType } from './recognise.ts';
import type { Column } from './table.ts';

/** A mapping says this about a question or column. */
export interface ColumnOverride {
  type?: ReplayedType | undefined;
  /** Another wording. */
  question?: string | undefined;
  /** The options in order; other answers are left out and counted. */
  options?: string[] | undefined;
  /** Leaves the columns out. */
  ignore?: true | undefined;
  decimal?: DecimalMark | undefined;
  dayOrder?: GivenDayOrder | undefined;
  /** Cells that are no answers, instead of the usual words. */
  missing?: string[] | undefined;
  /** Separates the choices of one cell. */
  split?: string | undefined;
  /** Translates cells. */
  values?: Record<string, string> | undefined;
}

/** Overrides by the header of a question or by the index of a column from 0. */
export interface Mapping {
  /** Cells that are no answers, in all columns. */
  missing?: string[] | undefined;
  /** The order of day and month in all columns that have no other. */
  dayOrder?: GivenDayOrder | undefined;
  columns: Record<string, ColumnOverride>;
}

export const emptyMapping: Mapping = { columns: {} };

/** The override of the question that a column belongs to. */
export const overrideForQuestion = ({ columns }: Mapping, { question }: Column): ColumnOverride | undefined =>
  Object.hasOwn(columns, question) ? columns[question] : undefined;

/** The override of this column. */
export const overrideForColumn = ({ columns }: Mapping, { index }: Column): ColumnOverride | undefined =>
  Object.hasOwn(columns, String(index)) ? columns[String(index)] : undefined;

/** Throws an Error if the mapping names a header or column that the file does not have. */
export function checkNames({ columns: overrides }: Mapping, columns: readonly Column[]): void {
  const known = new Set(columns.flatMap(({ question, index }) => [question, String(index)]));
  const unknown = Object.keys(overrides).find((name) => !known.has(name));
  if (unknown !== undefined)
    throw new Error(`The mapping names “${unknown}”, which is no header and no column number of the file`);
}
