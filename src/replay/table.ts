import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';

/** A CSV of responses: what heads each column, and the cells of every row. */
export interface Table {
  columns: readonly Column[];
  rows: readonly (readonly string[])[];
}

export interface Column {
  index: number;
  /** The question's wording; columns of one question share it. */
  question: string;
  /** The option, row or item that the column stands for; '' where it stands for the question itself. */
  part: string;
}

/** UTF-8 where the bytes are that, else Windows-1252, which older survey tools write. */
export function decodeCsv(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

export function readTable(path: string): { table: Table; bytes: Buffer } {
  const bytes = readFileSync(path);
  return { table: tableOf(parse(decodeCsv(bytes), { relax_column_count: true, skip_empty_lines: true })), bytes };
}

/**
 * Tells the header from the rows. A second header row is there when the first leaves columns without a name: those continue the question
 * before them, and the second row names their options, rows or items (“Response” names none).
 */
export function tableOf(lines: readonly (readonly string[])[]): Table {
  const [first = [], second = []] = lines;
  const names = first.map((name) => clean(name));
  const hasSecond = names.some((name) => name === '') && second.some((part) => clean(part) !== '');
  let question = '';
  const columns = names.map((name, index): Column => {
    if (name !== '') question = name;
    const part = hasSecond ? clean(second[index] ?? '') : '';
    return { index, question, part: /^response$/i.test(part) ? '' : part };
  });
  const width = columns.length;
  return { columns, rows: lines.slice(hasSecond ? 2 : 1).map((line) => Array.from({ length: width }, (_, index) => clean(line[index] ?? ''))) };
}

/** Cells without what is not seen: outer space, non-breaking space, the replacement character of a broken export. */
function clean(text: string): string {
  return text.replace(/[\u00a0\ufffd\s]+/g, ' ').trim();
}
