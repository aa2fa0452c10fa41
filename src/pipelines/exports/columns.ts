import {
  type AnswerStatus,
  type AskedPart,
  type AskedSurvey,
  askedSurvey,
  createStatusReader,
  type StoredStatuses,
} from '../../domain/analytics/asked.ts';
import { type CollectorIndex, collectorIdOf, indexCollectors } from '../../domain/collectors/survey-collectors.ts';
import { metadataPrefix, type ResponseFieldName } from '../../domain/export-formats.ts';
import { isCompleteOutcome } from '../../domain/outcome.ts';
import { hasBit } from '../../domain/questions/choice.ts';
import type { ExportColumn } from '../../domain/questions/contract.ts';
import { registry } from '../../domain/questions/registry.ts';
import type { Question, SurveyWithQuestions } from '../../domain/survey.ts';
import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';

export type Labels = 'text' | 'value';
export type CellValue = string | number | boolean | null;
/** `moment`: Unix milliseconds. `date` and `time` are texts, YYYY-MM-DD and HH:MM[:SS]. */
type CellType = 'text' | 'number' | 'boolean' | 'moment' | 'date' | 'time';

/** The seconds since midnight of a time, HH:MM[:SS]. */
export function clockSeconds(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
  return hours * 3600 + minutes * 60 + seconds;
}

/** Columns that every response has, by the names that the API uses. */
export const responseFields = {
  id: { type: 'text', read: (record) => record.responseId },
  surveyId: { type: 'text', read: (record) => record.surveyId },
  surveyVersion: { type: 'number', read: (record) => record.surveyVersion },
  submittedAt: { type: 'moment', read: (record) => record.submittedAt.getTime() },
  completedAt: { type: 'moment', read: (record) => record.completedAt?.getTime() ?? null },
  isComplete: { type: 'boolean', read: (record) => isCompleteOutcome(record.outcome) },
  durationSeconds: { type: 'number', read: (record) => (record.durationMs === null ? null : record.durationMs / 1000) },
  language: { type: 'text', read: (record) => (record.language === '' ? null : record.language) },
  respondent: { type: 'text', read: (record) => (record.respondent === '' ? null : record.respondent) },
  outcome: { type: 'text', read: (record) => record.outcome },
  collectorId: { type: 'text', read: ({ row }, collectors) => collectorIdOf(collectors, row.codes) ?? null },
  metadata: { type: 'text', read: ({ metadata }) => metadataText(metadata) },
} as const satisfies Record<
  ResponseFieldName,
  { type: CellType; read(record: ResponseRecord, collectors: CollectorIndex): CellValue }
>;

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
  'outcome',
] as const satisfies readonly ResponseFieldName[];

/** The same in all rows of a file, so a column only if it is asked for. */
const isConstant = (name: ResponseFieldName): boolean => name === 'surveyId';

export type FileColumn = {
  heading: string;
  type: CellType;
  /** Null: an empty cell. */
  read(record: ResponseRecord): CellValue;
  /** Where missing answers are labelled: why a cell of this column is empty. */
  missing?: MissingRule;
} & ColumnSource;

/** Tells skipped answers from those to questions that were not asked. */
export interface MissingRule {
  /** The question or row, and the question's place from 1. */
  part: AskedPart | undefined;
  place: number;
  statusOf(record: ResponseRecord): AnswerStatus;
}

/** Where a column's cells come from: a question's answer, a response field, or one key of the metadata. */
type ColumnSource =
  | { answer: { question: Question; column: ExportColumn }; field?: undefined; metadataKey?: undefined }
  | { answer?: undefined; field: ResponseFieldName; metadataKey?: undefined }
  | { answer?: undefined; field?: undefined; metadataKey: string }
  /** Whether a question or row was answered, skipped or not asked; `statusOf`: the column of its answer, if it has one. */
  | {
      answer?: undefined;
      field?: undefined;
      metadataKey?: undefined;
      isStatus: true;
      statusOf: FileColumn | undefined;
    };

/** The columns of a file, and the fields and questions for formats without columns. */
export interface Layout {
  columns: FileColumn[];
  responseFields: ResponseFieldName[];
  questions: Question[];
  /**
   * The number of each question of the survey, from 1: that of its place in the whole file, whatever columns are asked
   * for.
   */
  numbers: ReadonlyMap<string, number>;
  labels: Labels;
  collectors: CollectorIndex;
  /** The questions in order, where missing answers are labelled. */
  asked?: AskedSurvey | undefined;
}

export interface LayoutOptions {
  columns?: readonly string[] | undefined;
  labels: Labels;
  /** Keys of the metadata that have a column each unless columns are asked for. */
  metadataKeys?: readonly string[] | undefined;
  /**
   * `labelled`: skipped answers and questions that were not asked are told apart; `columns`: by a column of the status
   * beside each question or row. Default: both are empty cells.
   */
  missing?: 'labelled' | 'columns' | undefined;
}

/** Whether a requested column is a response field and no question id. */
const isResponseFieldName = (name: string): name is ResponseFieldName => Object.hasOwn(responseFields, name);

/**
 * Response fields, then questions in their order, then metadata by key and as a whole; or the requested columns, in
 * that order.
 */
export function layoutOf(
  survey: Pick<SurveyWithQuestions, 'isAnonymous' | 'questions' | 'collectors' | 'collectorSlot'>,
  { columns: asked, labels, metadataKeys = [], missing }: LayoutOptions,
): Layout {
  const visible = survey.questions.filter((question) => !question.isHidden);
  const collectors = indexCollectors(survey);
  const names = asked ?? [
    ...defaultFields.filter((name) => !survey.isAnonymous || name !== 'respondent'),
    ...(collectors.slot === null ? [] : ['collectorId']),
    ...visible.map((question) => question.id),
    ...metadataKeys.map((key) => metadataPrefix + key),
    'metadata',
  ];
  const byId = new Map(survey.questions.map((question) => [question.id, question]));
  const numbered = [...visible, ...survey.questions.filter((question) => question.isHidden)];
  const numbers = new Map(numbered.map(({ id }, index) => [id, index + 1]));
  const ruleOf = missing && missingRules(survey);
  const layout: Layout = {
    columns: [],
    responseFields: [],
    questions: [],
    numbers,
    labels,
    collectors,
    asked: missing && askedSurvey(survey),
  };
  for (const name of names) {
    const question = byId.get(name);
    if (question) {
      layout.questions.push(question);
      const columns = questionColumns(question, { number: numbers.get(name) ?? 0, labels, ruleOf });
      const statuses =
        ruleOf && missing === 'columns'
          ? statusColumns(question, { number: numbers.get(name) ?? 0, labels, ruleOf, columns })
          : [];
      layout.columns.push(...columns, ...statuses);
    } else if (isResponseFieldName(name)) {
      layout.responseFields.push(name);
      const { type, read } = responseFields[name];
      if (asked || !isConstant(name))
        layout.columns.push({ heading: name, field: name, type, read: (record) => read(record, collectors) });
    } else if (name.startsWith(metadataPrefix)) {
      layout.columns.push(metadataColumn(name));
      // Formats without columns have all metadata or none.
      if (!layout.responseFields.includes('metadata') && !names.includes('metadata'))
        layout.responseFields.push('metadata');
    }
  }
  makeHeadingsUnique(layout.columns);
  return layout;
}

function metadataColumn(name: string): FileColumn {
  const key = name.slice(metadataPrefix.length);
  return {
    heading: name,
    type: 'text',
    metadataKey: key,
    read: ({ metadata }) => (Object.hasOwn(metadata, key) ? (metadata[key] ?? null) : null),
  };
}

interface QuestionColumnOptions {
  number: number;
  labels: Labels;
  ruleOf: RuleOf | undefined;
}

function questionColumns(question: Question, { number, labels, ruleOf }: QuestionColumnOptions): FileColumn[] {
  return registry[question.type].exportColumns(question).map((column) => ({
    heading: labels === 'value' ? codedHeading(number, column) : headingOf(question, column),
    ...cellReader(column, labels),
    answer: { question, column },
    ...(ruleOf && { missing: ruleOf(question, column.rowId) }),
  }));
}

type RuleOf = (question: Question, rowId: string | undefined) => MissingRule;

function missingRules(survey: Pick<SurveyWithQuestions, 'questions' | 'partialsMarkedFrom'>): RuleOf {
  const asked = askedSurvey(survey);
  const read = createStatusReader(asked);
  let last: { record: ResponseRecord; statuses: StoredStatuses } | undefined;
  // The cells of a response are read one after the other.
  const statusesOf = (record: ResponseRecord): StoredStatuses => {
    if (last?.record !== record) last = { record, statuses: read(record) };
    return last.statuses;
  };
  return ({ id }, rowId) => {
    const index = asked.questions.findIndex(({ questionId }) => questionId === id);
    const question = asked.questions[index];
    return {
      part: rowId === undefined ? question : question?.rows.find((row) => row.id === rowId),
      place: index + 1,
      statusOf: (record) => (rowId === undefined ? statusesOf(record).of(id) : statusesOf(record).ofRow(id, rowId)),
    };
  };
}

/** A column with the status of a question, or of each row of a MATRIX. */
function statusColumns(
  question: Question,
  { number, labels, ruleOf, columns }: { number: number; labels: Labels; ruleOf: RuleOf; columns: FileColumn[] },
): FileColumn[] {
  const rows = question.rows.length === 0 ? [undefined] : question.rows;
  return rows.map((row) => {
    const column = { key: row?.value ?? '', label: row?.text ?? '' };
    const heading = labels === 'value' ? codedHeading(number, column) : headingOf(question, column);
    const { statusOf } = ruleOf(question, row?.id);
    return {
      heading: statusHeading(heading),
      type: 'text',
      isStatus: true,
      statusOf: columns.find((answer) => answer.heading === heading),
      read: statusOf,
    };
  });
}

const statusHeading = (heading: string): string => `${heading} (status)`;

/** The heading of an answer in the author's wording. */
export const headingOf = (
  { text }: Pick<Question, 'text'>,
  { key, label }: Pick<ExportColumn, 'key' | 'label'>,
): string => (key === '' ? text : `${text} [${label}]`);

const codedHeading = (number: number, { key }: Pick<ExportColumn, 'key'>): string =>
  key === '' ? `Q${number}` : `Q${number}:${key}`;

/**
 * Numbers equal headings, because some readers drop columns without unique names. Names of response fields are
 * reserved. The columns of statuses come last, and are named after those of their answers.
 */
function makeHeadingsUnique(columns: FileColumn[]): void {
  const taken = new Set<string>(Object.keys(responseFields));
  const isStatus = (column: FileColumn): boolean => 'isStatus' in column;
  for (const column of [...columns.filter((one) => !isStatus(one)), ...columns.filter(isStatus)]) {
    if (column.field !== undefined) continue;
    const plain = 'isStatus' in column && column.statusOf ? statusHeading(column.statusOf.heading) : column.heading;
    column.heading = plain;
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
  if (hasBit(codes, slots, code)) return 1;
  for (const slot of slots) if (codes[slot]) return 0;
  return null;
}

function metadataText(metadata: Readonly<Record<string, string>>): string | null {
  for (const _ in metadata) return JSON.stringify(metadata);
  return null;
}
