/** A column of a file of responses. Neighbouring columns of one question share its `run`. */
export interface Column {
  /** Index of its cells in the rows, from 0. */
  index: number;
  /** How the file calls it, where that is not the question: a variable of SPSS, an import id of Qualtrics. */
  name?: string;
  /** Index of the question that the column belongs to, from 0. */
  run: number;
  /** The question's wording, on one line. */
  question: string;
  /** The option, row or item of the column; '' if the column is the whole question. */
  part: string;
  /** What it is in an export of a known survey tool, if not a question; 'other' is left out. */
  role?: 'id' | 'time' | 'other';
  /** What the file says about the question, which cells alone do not show. */
  declared?: Declared;
}

export interface Declared {
  /** All options in order, chosen or not. */
  options?: readonly string[];
  type?: 'CHECKBOXES' | 'SHORT_TEXT';
  /** Separates the choices of one cell; null: a cell has one answer. */
  split?: string | null;
}

export type Row = readonly string[];

export interface Table {
  columns: readonly Column[];
  /** Columns without a name and without a filled cell, which a mapping may name. */
  emptyColumns?: readonly Column[];
  /** Cells as in the file, by the `index` of columns. */
  rows: readonly Row[];
  /** Remarks to print, as sentences. */
  remarks: readonly string[];
}

/** The trimmed cell; '' means that the question was not answered. */
export function cellAt(row: Row, index: number): string {
  return (row[index] ?? '').trim();
}

/** The filled cells of a column. */
export function valuesOf(rows: readonly Row[], index: number): string[] {
  return rows.map((row) => cellAt(row, index)).filter((cell) => cell !== '');
}

/** Whether a row has a filled cell: spreadsheets also write rows of formats, blanks and formulas without a result. */
export const isFilled = (row: Row): boolean => row.some((cell) => cell.trim() !== '');

const hasCell = (lines: readonly Row[], index: number): boolean => lines.some((line) => cellAt(line, index) !== '');

/**
 * Separates the header from the rows: one line of names, or two if the second names the options, rows or items of
 * columns. Of the three lines of Qualtrics, the second has the wordings and the third the names. Columns without a name
 * and without a filled cell are left out.
 */
export function tableOf(given: readonly Row[]): Table {
  const ids = importIds(given);
  const lines = ids ? given.filter((_, place) => place === 1 || place > 2) : given;
  const names = (lines[0] ?? []).map(oneLine);
  if (names.length === 0) throw new Error('The file is empty');
  const parts = hasPartNames(names, lines) ? (lines[1] ?? []).map(oneLine) : undefined;
  const answers = lines.slice(parts ? 2 : 1);
  const firstPart = parts?.some((part) => plainAnswer.test(part)) ? undefined : parts?.find((part) => part !== '');
  const longer = answers.filter((row) => isFilled(row.slice(names.length))).length;
  const columns = columnsOf(names, parts);
  const isNamedOrFilled = ({ index }: Column): boolean => hasCell(lines, index);
  return {
    columns: columns
      .filter(isNamedOrFilled)
      .map((column) => ({ ...column, ...(ids && { name: ids[column.index] ?? '' }) })),
    emptyColumns: columns.filter((column) => !isNamedOrFilled(column)),
    rows: answers.map((row) => names.map((_, index) => row[index] ?? '')),
    remarks: [
      ...(firstPart ? [`The second line is read as names of columns, such as “${firstPart.slice(0, 100)}”.`] : []),
      ...(longer > 0 ? [`${longer} rows have more cells than the header; their surplus cells are left out.`] : []),
    ],
  };
}

/** The same of lines of which some may have no filled cell: they are left out, with a remark. */
export function tableOfFilled(given: readonly Row[]): Table {
  const lines = given.filter(isFilled);
  const table = tableOf(lines);
  const empty = given.length - lines.length;
  const remarks = empty > 0 ? [`${empty} rows have no filled cell; they are left out.`] : [];
  return { ...table, remarks: [...table.remarks, ...remarks] };
}

/** The ids in the third line of a head of Qualtrics, as {"ImportId":"QID1"}; undefined if it is another head. */
function importIds([, , third = []]: readonly Row[]): string[] | undefined {
  const ids = third.map((cell) => /^\{"ImportId":"([^"]*)"/.exec(cell)?.[1]);
  return ids.length > 0 && ids.every((id) => id !== undefined) ? ids : undefined;
}

const plainAnswer = /^(open-ended )?response$/i;

function columnsOf(names: readonly string[], parts: readonly string[] | undefined): Column[] {
  let run = -1;
  let question = '';
  return names.map((name, index): Column => {
    const isContinued = name === '' && parts !== undefined && run >= 0;
    if (!isContinued) [run, question] = [run + 1, name === '' ? `Column ${index + 1}` : name];
    const part = parts?.[index] ?? '';
    return { index, run, question, part: plainAnswer.test(part) ? '' : part };
  });
}

/**
 * Whether the second line belongs to the header: it says “Response”, or it names all columns with cells that the first
 * line leaves unnamed, and no such name is an answer below, unless it is the column's only answer, as with checkboxes.
 */
function hasPartNames(names: readonly string[], [, second = [], ...rows]: readonly Row[]): boolean {
  if (second.some((cell) => plainAnswer.test(cell.trim()))) return true;
  const continued = names.flatMap((name, index) =>
    name === '' && index > 0 && hasCell([second, ...rows], index) ? [index - 1, index] : [],
  );
  return (
    continued.length > 0 &&
    continued.every((index) => {
      const part = cellAt(second, index);
      const below = new Set(valuesOf(rows, index));
      return part !== '' && (!below.has(part) || below.size === 1);
    })
  );
}

/** A header on one line: exports contain line breaks and double spaces. */
export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

export function commonStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}
