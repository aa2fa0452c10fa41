import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { decodeText } from './decode.ts';

/** A column of a file of responses. Columns that stand under one question follow each other and share its `run`. */
export interface Column {
  /** Place in the file, from 0. */
  index: number;
  /** Number of the question that the column stands under. */
  run: number;
  /** The question's wording, on one line. */
  question: string;
  /** The option, row or item that the column stands for; '' where it stands for the question itself. */
  part: string;
}

export type Row = readonly string[];

export interface Table {
  columns: readonly Column[];
  /** Cells as the file has them, one a column. */
  rows: readonly Row[];
  /** What a reader of the file should know, as sentences. */
  remarks: readonly string[];
}

/** Reads a CSV file. `digest` stands for its content: the same bytes have the same one. */
export function readTable(path: string): { table: Table; digest: string } {
  const bytes = readFileSync(path);
  const lines = parse(decodeText(bytes), { relax_column_count: true, skip_empty_lines: true });
  return { table: tableOf(lines), digest: createHash('sha256').update(bytes).digest('hex').slice(0, 32) };
}

/** A cell without outer space; '' is a question that was not answered. */
export function cellAt(row: Row, index: number): string {
  return (row[index] ?? '').trim();
}

/** The filled cells of a column. */
export function valuesOf(rows: readonly Row[], index: number): string[] {
  return rows.map((row) => cellAt(row, index)).filter((cell) => cell !== '');
}

/** Tells the header from the rows: one line of names, or two where the second names what the columns of a question stand for. */
export function tableOf(lines: readonly Row[]): Table {
  const names = (lines[0] ?? []).map(oneLine);
  if (names.length === 0) throw new Error('The file is empty');
  const parts = hasPartNames(names, lines) ? (lines[1] ?? []).map(oneLine) : undefined;
  const given = lines.slice(parts ? 2 : 1);
  const longer = given.filter(
    (row) => row.length > names.length && row.slice(names.length).some((cell) => cell.trim() !== ''),
  ).length;
  return {
    columns: columnsOf(names, parts),
    rows: given.map((row) => names.map((_, index) => row[index] ?? '')),
    remarks: longer > 0 ? [`${longer} rows have more cells than the header; what is beyond it is left out.`] : [],
  };
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
 * A second header row is there when it says “Response”, or when it names the columns that the first row leaves without a name: no such
 * name stands below as an answer, unless it is the column's only answer, as in a list to tick.
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

/** A header's wording: exports break lines and double spaces in it. */
export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
