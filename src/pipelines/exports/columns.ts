import type { ResponseFieldName } from '../../domain/export-formats.ts';
import { bitsPerWord, type ExportColumn } from '../../domain/questions/contract.ts';
import { registry } from '../../domain/questions/registry.ts';
import type { Question, SurveyWithQuestions } from '../../domain/survey.ts';
import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';

export type Labels = 'text' | 'value';
export type CellValue = string | number | boolean | null;
/** `moment`: Unix milliseconds. `date` and `time` are texts, YYYY-MM-DD and HH:MM[:SS]. */
type CellType = 'text' | 'number' | 'boolean' | 'moment' | 'date' | 'time';

/** Columns that every response has, by the names that the API uses. */
const responseFields = {
  id: { type: 'text', read: (record) => record.responseId },
  surveyId: { type: 'text', read: (record) => record.surveyId },
  surveyVersion: { type: 'number', read: (record) => record.surveyVersion },
  submittedAt: { type: 'moment', read: (record) => record.submittedAt.getTime() },
  completedAt: { type: 'moment', read: (record) => record.completedAt?.getTime() ?? null },
  isComplete: { type: 'boolean', read: (record) => record.isComplete },
  durationSeconds: { type: 'number', read: (record) => (record.durationMs === null ? null : record.durationMs / 1000) },
  language: { type: 'text', read: (record) => (record.language === '' ? null : record.language) },
  respondent: { type: 'text', read: (record) => (record.respondent === '' ? null : record.respondent) },
  metadata: { type: 'text', read: ({ metadata }) => metadataText(metadata) },
} as const satisfies Record<ResponseFieldName, { type: CellType; read(record: ResponseRecord): CellValue }>;

const defaultFields = [
  'id',
  'surveyId',
  'surveyVersion',
  'submittedAt',
  'completedAt',
  'isComplete',
  'durationSeconds',
  'language',
  'respondent',
] as const satisfies readonly ResponseFieldName[];

/** The same in all rows of a file, so a column only if it is asked for. */
const isConstant = (name: ResponseFieldName): boolean => name === 'surveyId';

export type FileColumn = {
  heading: string;
  type: CellType;
  /** Null: an empty cell. */
  read(record: ResponseRecord): CellValue;
} & ColumnSource;

/** Where a column's cells come from: a question's answer or a response field. */
type ColumnSource =
  | { answer: { question: Question; column: ExportColumn }; field?: undefined }
  | { answer?: undefined; field: ResponseFieldName };

/** The columns of a file, and the fields and questions for formats without columns. */
export interface Layout {
  columns: FileColumn[];
  responseFields: ResponseFieldName[];
  questions: Question[];
  labels: Labels;
}

export interface LayoutOptions {
  columns?: readonly string[] | undefined;
  labels: Labels;
}

/** Whether a requested column is a response field and no question id. */
const isResponseFieldName = (name: string): name is ResponseFieldName => Object.hasOwn(responseFields, name);

/** Response fields, then questions in their order, then metadata; or the requested columns, in that order. */
export function layoutOf(
  survey: Pick<SurveyWithQuestions, 'isAnonymous' | 'questions'>,
  { columns: asked, labels }: LayoutOptions,
): Layout {
  const visible = survey.questions.filter((question) => !question.isHidden);
  const names = asked ?? [
    ...defaultFields.filter((name) => !survey.isAnonymous || name !== 'respondent'),
    ...visible.map((question) => question.id),
    'metadata',
  ];
  const byId = new Map(survey.questions.map((question) => [question.id, question]));
  const layout: Layout = { columns: [], responseFields: [], questions: [], labels };
  for (const name of names) {
    const question = byId.get(name);
    if (question) {
      layout.questions.push(question);
      layout.columns.push(...questionColumns(question, labels));
    } else if (isResponseFieldName(name)) {
      layout.responseFields.push(name);
      if (asked || !isConstant(name)) layout.columns.push({ heading: name, field: name, ...responseFields[name] });
    }
  }
  makeHeadingsUnique(layout.columns);
  return layout;
}

function questionColumns(question: Question, labels: Labels): FileColumn[] {
  return registry[question.type].exportColumns(question).map((column) => ({
    heading: headingOf(question, column, labels),
    ...cellReader(column, labels),
    answer: { question, column },
  }));
}

function headingOf({ id, text }: Question, { key, label }: ExportColumn, labels: Labels): string {
  if (labels === 'value') return key === '' ? id : `${id}:${key}`;
  return key === '' ? text : `${text} [${label}]`;
}

/**
 * Numbers equal headings, because some readers drop columns without unique names. Names of response fields are
 * reserved.
 */
function makeHeadingsUnique(columns: FileColumn[]): void {
  const taken = new Set<string>(Object.keys(responseFields));
  for (const column of columns) {
    if (column.field !== undefined) continue;
    const plain = column.heading;
    for (let n = 2; taken.has(column.heading); n += 1) column.heading = `${plain} (${n})`;
    taken.add(column.heading);
  }
}

function cellReader({ cell }: ExportColumn, labels: Labels): Pick<FileColumn, 'type' | 'read'> {
  switch (cell.kind) {
    case 'choice': {
      const names = new Map(cell.categories.map((category) => [category.code, category[labels]]));
      return { type: 'text', read: ({ row }) => names.get(row.codes[cell.slot] ?? 0) ?? null };
    }
    case 'flag':
      return { type: 'number', read: ({ row }) => flagOf(row.codes, cell.slots, cell.code) };
    case 'rank':
      return { type: 'number', read: ({ row }) => row.codes[cell.slot] || null };
    case 'point':
      return { type: 'number', read: ({ row }) => cell.points[(row.codes[cell.slot] ?? 0) - 1] ?? null };
    case 'number':
      return {
        type: 'number',
        read: ({ row }) => (row.codes[cell.presence] ? (row.numbers[cell.slot] ?? null) : null),
      };
    case 'text': {
      const isThere = cell.code === undefined ? (code: number) => code !== 0 : (code: number) => code === cell.code;
      const shown = cell.form === 'upload' ? (text: string) => text.split(' ', 1)[0] ?? '' : (text: string) => text;
      const type = cell.form === 'date' || cell.form === 'time' ? cell.form : 'text';
      return {
        type,
        read: ({ row }) => (isThere(row.codes[cell.presence] ?? 0) ? shown(row.texts[cell.slot] ?? '') : null),
      };
    }
  }
}

/** 1: chosen; 0: others were; null: the question was not answered. */
function flagOf(codes: readonly number[], slots: readonly number[], code: number): number | null {
  const word = codes[slots[Math.floor((code - 1) / bitsPerWord)] ?? -1] ?? 0;
  if ((word & (1 << ((code - 1) % bitsPerWord))) !== 0) return 1;
  for (const slot of slots) if (codes[slot]) return 0;
  return null;
}

function metadataText(metadata: Readonly<Record<string, string>>): string | null {
  for (const _ in metadata) return JSON.stringify(metadata);
  return null;
}
