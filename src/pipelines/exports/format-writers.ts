import type { ExportFormat } from '../../domain/export-formats.ts';
import type { Writer } from './writer.ts';

/** The writer of each format, loaded on demand: the libraries of all formats take a quarter of a second to load. */
export const writers: Readonly<Record<ExportFormat, () => Promise<Writer>>> = {
  CSV: async () => (await import('./csv.ts')).writeCsv,
  EXCEL: async () => (await import('./excel/excel.ts')).writeExcel,
  PDF: async () => (await import('./pdf/pdf.ts')).writePdf,
  JSON: async () => (await import('./json.ts')).writeJson,
  NDJSON: async () => (await import('./json.ts')).writeNdjson,
  PARQUET: async () => (await import('./parquet.ts')).writeParquet,
  SPSS: async () => (await import('./spss/spss.ts')).writeSpss,
};
