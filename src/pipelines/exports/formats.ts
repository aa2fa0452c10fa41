import type { ExportFormat } from '../../stores/postgres/exports.ts';
import { writeCsv } from './csv.ts';
import { writeExcel } from './excel/excel.ts';
import { writeJson, writeNdjson } from './json.ts';
import { writeParquet } from './parquet.ts';
import { writePdf } from './pdf/pdf.ts';
import { writeSpss } from './spss/spss.ts';
import type { Writer } from './writer.ts';

/** Who writes which format. */
export const writers: Readonly<Record<ExportFormat, Writer>> = {
  CSV: writeCsv,
  EXCEL: writeExcel,
  PDF: writePdf,
  JSON: writeJson,
  NDJSON: writeNdjson,
  PARQUET: writeParquet,
  SPSS: writeSpss,
};
