import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Separator } from './separator.ts';
import { isExcelFile, readSheet } from './spreadsheet.ts';
import { isSpssFile } from './spss/file.ts';
import { spssTable } from './spss/table.ts';
import { recogniseTool } from './survey-tools.ts';
import { type Table, tableOfFilled } from './table.ts';
import { textTable } from './text-table.ts';

/** A file that was read; `digest` is a hash of its bytes. */
export interface TableFile {
  table: Table;
  digest: string;
  /** Undefined for Excel and SPSS files. */
  separator: Separator | undefined;
}

export interface ReadOptions {
  /** Default: recognised by the first lines. */
  separator?: Separator | undefined;
  /** The sheet of an Excel file; default: the first one that has cells. */
  sheet?: string | undefined;
}

/**
 * Reads a file of responses: text of separated cells, an Excel workbook (.xlsx) or an SPSS system file (.sav, .zsav),
 * as its first bytes say. Throws an Error that says why it cannot be read.
 */
export async function readTable(path: string, options: ReadOptions = {}): Promise<TableFile> {
  const bytes = readFileSync(path);
  const { table, separator } = await parseFile(bytes, options);
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
  return { table: recogniseTool(table), digest, separator };
}

async function parseFile(bytes: Buffer, options: ReadOptions): Promise<Omit<TableFile, 'digest'>> {
  if (isSpssFile(bytes)) return { table: spssTable(bytes), separator: undefined };
  if (isExcelFile(bytes)) {
    const { lines, remarks } = await readSheet(bytes, options.sheet);
    const table = tableOfFilled(lines);
    return { table: { ...table, remarks: [...remarks, ...table.remarks] }, separator: undefined };
  }
  return textTable(bytes, options.separator);
}
