import { cleanTable } from '../../../src/replay/clean.ts';
import { detect } from '../../../src/replay/detect.ts';
import { emptyMapping } from '../../../src/replay/mapping.ts';
import { questionBody } from '../../../src/replay/question-body.ts';
import type { DetectedQuestion, ReplayedType } from '../../../src/replay/recognise.ts';
import type { Separator } from '../../../src/replay/separator.ts';
import { recogniseTool } from '../../../src/replay/survey-tools.ts';
import type { Column, Table } from '../../../src/replay/table.ts';
import { textTable } from '../../../src/replay/text-table.ts';
import { typeAdapters } from '../../../src/replay/types/adapters.ts';
import { sentence, UserError } from './problems.ts';
import { importSurveyBody } from './survey-files.ts';
import type { SurveyWithQuestions } from './surveys.ts';

export type { DetectedQuestion, ReplayedType };

/** A file of responses as it was read. */
export interface ResponsesFile {
  table: Table;
  separator: Separator;
}

/** Types that were chosen instead of the recognised ones, by the key of the question. */
export type ChosenTypes = ReadonlyMap<string, ReplayedType>;

export interface RecognisedQuestion {
  /** Stays the same when the type changes. */
  key: string;
  found: DetectedQuestion;
  /** What it may be, the present type included. */
  types: readonly ReplayedType[];
  answerCount: number;
  /** Answers that do not fit the type, which would be left out. */
  unfitCount: number;
}

/** What rows are made into responses with. */
export interface RecognisedSource {
  table: Table;
  idColumn: Column | undefined;
  timeColumn: Column | undefined;
}

export interface RecognisedFile {
  source: RecognisedSource;
  questions: RecognisedQuestion[];
  /** Names of columns that are no questions: who answered, and when. */
  idColumn: string | undefined;
  timeColumn: string | undefined;
  /** What the file has beside: columns about devices and places. */
  otherColumns: string[];
  remarks: readonly string[];
  rowCount: number;
}

/** A page that reads more than this stands still for seconds. */
const mostBytes = 20_000_000;

const groupTypes: readonly ReplayedType[] = ['CHECKBOXES', 'RANKING', 'MATRIX'];
const columnTypes = (Object.keys(typeAdapters) as ReplayedType[]).filter((type) => !groupTypes.includes(type));

/** Reads a CSV file of responses. Throws a UserError that says why it cannot be read. */
export async function readResponses(file: File): Promise<ResponsesFile> {
  if (file.size > mostBytes) throw new UserError('This file has more than 20 MB. npm run replay takes it.');
  try {
    const { table, separator } = textTable(new Uint8Array(await file.arrayBuffer()));
    if (table.rows.length === 0) throw new Error('The file has a head, but no responses');
    return { table: recogniseTool(table), separator };
  } catch (error) {
    throw new UserError(sentence((error as Error).message));
  }
}

/**
 * The questions of a file, as `npm run replay` recognises them. Throws an Error if a chosen type does not fit its
 * columns.
 */
export function recognise({ table: given, separator }: ResponsesFile, chosen: ChosenTypes): RecognisedFile {
  const mapping = {
    ...emptyMapping,
    columns: Object.fromEntries([...chosen].map(([key, type]) => [key, { type }])),
  };
  const table = cleanTable(given, mapping, { separator });
  const { questions, idColumn, timeColumn } = detect(table, mapping);
  const columns = new Map(table.columns.map((column) => [column.index, column]));
  return {
    source: { table, idColumn, timeColumn },
    questions: questions.map((found) => {
      const { isFilled, problem } = typeAdapters[found.type];
      const filled = table.rows.filter((row) => isFilled(found, row));
      return {
        key: keyOf(found, columns),
        found,
        types: typesOf(found),
        answerCount: filled.length,
        unfitCount: filled.filter((row) => problem(found, row) !== undefined).length,
      };
    }),
    idColumn: idColumn?.question,
    timeColumn: timeColumn?.question,
    otherColumns: table.columns.filter(({ role }) => role === 'other').map(({ question }) => question),
    remarks: table.remarks,
    rowCount: table.rows.length,
  };
}

/** As a mapping names it: the header of several columns, the number of one. */
function keyOf({ items }: DetectedQuestion, columns: ReadonlyMap<number, Column>): string {
  const index = items[0]?.index ?? 0;
  return items.length > 1 ? (columns.get(index)?.question ?? '') : String(index);
}

function typesOf({ type, items }: DetectedQuestion): readonly ReplayedType[] {
  if (items.length > 1) return groupTypes;
  return columnTypes.includes(type) ? columnTypes : [type, ...columnTypes];
}

/** Makes a draft of the questions. */
export const importQuestions = (title: string, questions: readonly DetectedQuestion[]): Promise<SurveyWithQuestions> =>
  importSurveyBody({ title, questions: questions.map(questionBody) });
