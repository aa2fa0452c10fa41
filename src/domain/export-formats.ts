/**
 * The formats of export files, in the order that the interface lists them: the `Content-Type` of a download and the
 * ending of its file name. A further format is a row here and a writer in `pipelines/exports/format-writers.ts`.
 */
export const exportFileTypes = {
  CSV: { mediaType: 'text/csv; charset=utf-8', ending: 'csv' },
  EXCEL: { mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', ending: 'xlsx' },
  PDF: { mediaType: 'application/pdf', ending: 'pdf' },
  JSON: { mediaType: 'application/json', ending: 'json' },
  NDJSON: { mediaType: 'application/x-ndjson', ending: 'ndjson' },
  PARQUET: { mediaType: 'application/vnd.apache.parquet', ending: 'parquet' },
  SPSS: { mediaType: 'application/x-spss-sav', ending: 'sav' },
} as const satisfies Readonly<Record<string, { mediaType: string; ending: string }>>;

export type ExportFormat = keyof typeof exportFileTypes;
export const exportFormats = Object.keys(exportFileTypes) as [ExportFormat, ...ExportFormat[]];

/**
 * The columns of an export that are not questions, by the names that a request uses for them.
 * `pipelines/exports/columns.ts` says how each is read from a response.
 */
export const responseFieldNames = [
  'id',
  'surveyId',
  'surveyVersion',
  'submittedAt',
  'completedAt',
  'isComplete',
  'durationSeconds',
  'language',
  'respondent',
  'outcome',
  'collectorId',
  'metadata',
] as const;
export type ResponseFieldName = (typeof responseFieldNames)[number];

/** What a cell holds where missing answers are labelled and the question was not asked. */
export const notAskedText = '(not asked)';

/** The name of a column with one key of the metadata: this and the key. */
export const metadataPrefix = 'metadata.';
