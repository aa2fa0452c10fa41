import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import exceljs from 'exceljs';
import { findProgram } from './debian-program.ts';

/** Why tests that open files with LibreOffice are skipped, or false. */
export const withoutOffice = findProgram('soffice') === undefined ? 'LibreOffice is not installed' : false;

// Comma, double quote, UTF-8; the last word asks for formulas to be evaluated.
const readingCsv = '--infilter=Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,0,true';

/**
 * The first sheet of a file whose name ends in `.csv` or `.xlsx`, opened by LibreOffice as by a person who lets it do
 * everything, and saved again.
 */
export async function openedInOffice(name: string, bytes: Uint8Array): Promise<exceljs.Worksheet> {
  const folder = mkdtempSync(join(tmpdir(), 'survey-office-'));
  try {
    const [given, made] = [join(folder, name), join(folder, 'made')];
    mkdirSync(made);
    writeFileSync(given, bytes);
    const run = spawnSync(
      'soffice',
      [
        `-env:UserInstallation=${pathToFileURL(join(folder, 'profile')).href}`,
        '--headless',
        ...(name.endsWith('.csv') ? [readingCsv] : []),
        '--convert-to',
        'xlsx',
        '--outdir',
        made,
        given,
      ],
      { encoding: 'utf8', timeout: 120_000 },
    );
    assert.equal(run.status, 0, run.stderr);
    const workbook = new exceljs.Workbook();
    await workbook.xlsx.readFile(join(made, name.replace(/\.\w+$/, '.xlsx')));
    const [sheet] = workbook.worksheets;
    assert.ok(sheet);
    return sheet;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Addresses of the cells of a sheet that are formulas or links. */
export function formulasOf(sheet: exceljs.Worksheet): string[] {
  const found: string[] = [];
  sheet.eachRow((row) =>
    row.eachCell((cell) => {
      if (cell.type === exceljs.ValueType.Formula || cell.type === exceljs.ValueType.Hyperlink)
        found.push(cell.address);
    }),
  );
  return found;
}
