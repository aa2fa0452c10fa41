import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { decodeText } from './decode.ts';
import { type Separator, separatorOf, separators } from './separator.ts';

/** A column of a file of responses. Neighbouring columns of one question share its `run`. */
export interface Column {
  /** Index in the file, from 0. */
  index: number;
  /** Index of the question that the column belongs to, from 0. */
  run: number;
  /** The question's wording, on one line. */
  question: string;
  /** The option, row or item of the column; '' if the column is the whole question. */
  part: string;
}

export type Row = readonly string[];

export interface Table {
  columns: readonly Column[];
  /** Cells as in the file, one for each column. */
  rows: readonly Row[];
  /** Remarks to print, as sentences. */
  remarks: readonly string[];
}

/** A file that was read; `digest` is a hash of its bytes. */
export interface TableFile {
  table: Table;
  digest: string;
  separator: Separator;
}

/** Reads a CSV file. Without a `separator`, the first lines decide. Throws an Error if the file is no text. */
export function readTable(path: string, options: { separator?: Separator | undefined } = {}): TableFile {
  const bytes = readFileSync(path);
  const decoded = decodeText(bytes);
  const [firstLine = '', named] = /^sep=(.)\r?\n/.exec(decoded) ?? [];
  const text = decoded.slice(firstLine.length);
  const separator = options.separator ?? separators.find((mark) => mark === named) ?? separatorOf(text);
  const lines = parse(text, { delimiter: separator, relax_column_count: true, skip_empty_lines: true });
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
  return { table: tableOf(lines), digest, separator };
}

/** The trimmed cell; '' means that the question was not answered. */
export function cellAt(row: Row, index: number): string {
  return (row[index] ?? '').trim();
}

/** The filled cells of a column. */
export function valuesOf(rows: readonly Row[], index: number): string[] {
  return rows.map((row) => cellAt(row, index)).filter((cell) => cell !== '');
}

/**
 * Separates the header from the rows: one line of names, or two if the second names the options, rows or items of
 * columns. Of the three lines of Qualtrics, the second has the wordings.
 */
export function tableOf(given: readonly Row[]): Table {
  const lines = isQualtrics(given) ? given.filter((_, place) => place === 1 || place > 2) : given;
  const names = (lines[0] ?? []).map(oneLine);
  if (names.length === 0) throw new Error('The file is empty');
  const parts = hasPartNames(names, lines) ? (lines[1] ?? []).map(oneLine) : undefined;
  const answers = lines.slice(parts ? 2 : 1);
  const longer = answers.filter(
    (row) => row.length > names.length && row.slice(names.length).some((cell) => cell.trim() !== ''),
  ).length;
  return {
    columns: columnsOf(names, parts),
    rows: answers.map((row) => names.map((_, index) => row[index] ?? '')),
    remarks: longer > 0 ? [`${longer} rows have more cells than the header; their surplus cells are left out.`] : [],
  };
}

/** Whether the head has the three lines of Qualtrics: short names, wordings, and ids as {"ImportId":"QID1"}. */
const isQualtrics = (lines: readonly Row[]): boolean =>
  (lines[2]?.length ?? 0) > 0 && lines[2]?.every((cell) => /^\{"ImportId":/.test(cell)) === true;

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
 * Whether the second line belongs to the header: it says “Response”, or it names all columns that the first line leaves
 * unnamed, and no such name is an answer below, unless it is the column's only answer, as with checkboxes.
 */
function hasPartNames(names: readonly string[], [, second = [], ...rows]: readonly Row[]): boolean {
  if (second.some((cell) => plainAnswer.test(cell.trim()))) return true;
  const continued = names.flatMap((name, index) => (name === '' && index > 0 ? [index - 1, index] : []));
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
