import { after, before } from 'node:test';
import type { Layout } from '../../src/pipelines/exports/columns.ts';
import { writeCsv } from '../../src/pipelines/exports/csv.ts';
import { createExportRows, type ExportRows } from '../../src/stores/clickhouse/read/export-rows.ts';
import { referenceLine } from './csv-reference.ts';
import { type GivenResponse, openResponseDatabase, type ResponseDatabase, responseLine } from './response-database.ts';

/**
 * A database for the tests of a suite, the CSV files that it writes, and the lines of records that they are held against:
 * `take` is given what reads it before the first test.
 */
export function useCsvLines(take: (rows: ExportRows) => void) {
  let database: ResponseDatabase;
  let rows: ExportRows;
  before(async () => {
    database = await openResponseDatabase();
    rows = createExportRows({ clickhouse: database.clickhouse });
    take(rows);
  });
  after(() => database.close());

  const store = (given: readonly GivenResponse[], batch?: { codeColumns?: number }) =>
    database.store(given.map(responseLine), batch);
  async function fileOf(surveyId: string, layout: Layout, codeColumns: number) {
    const pieces: Uint8Array[] = [];
    let counted = 0;
    const csvLines = async function* (columns: Parameters<ExportRows['csvLines']>[1]) {
      for await (const lines of rows.csvLines({ surveyId }, columns, { codeColumns, asked: layout.asked })) {
        counted += lines.rows;
        yield lines;
      }
    };
    await writeCsv({ layout, csvLines } as unknown as Parameters<typeof writeCsv>[0], {
      write: async (bytes) => void pieces.push(bytes),
    });
    const text = Buffer.concat(pieces).toString('utf8');
    return { text, lines: text.slice(text.indexOf('\r\n') + 2), counted };
  }
  async function expected(surveyId: string, layout: Layout, codeColumns: number): Promise<string> {
    let text = '';
    for await (const batch of rows.batches({ surveyId }, codeColumns))
      for (const record of batch) text += referenceLine(layout.columns, record);
    return text;
  }
  return { store, fileOf, expected };
}
