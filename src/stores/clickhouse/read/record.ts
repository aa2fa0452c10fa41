import type { Outcome } from '../../../domain/outcome.ts';
import type { AnswerRow } from '../../../domain/questions/contract.ts';
import { codeColumn, decodeValues, fieldIndex, responseColumns } from '../../../domain/response-row.ts';

/** The newest version of a stored response. */
export interface ResponseRecord {
  surveyId: string;
  responseId: string;
  submittedAt: Date;
  version: number;
  surveyVersion: number;
  outcome: Outcome;
  completedAt: Date | null;
  /** When a PARTIAL one was saved, where that is known. */
  savedAtMs?: number;
  durationMs: number | null;
  language: string;
  /** '' if none was given. */
  respondent: string;
  metadata: Readonly<Record<string, string>>;
  row: AnswerRow;
}

/** The place of a response among those of its survey, by submission time and id; never changes. */
export interface ResponseKey {
  submittedAtMs: number;
  responseId: string;
}

/** One row of a SELECT of `recordColumns`: the values in the order of the response row, then its codes as one array. */
export type RecordCells = readonly unknown[];

/** The columns of a record, with all code positions or the first `codeColumns` of them. */
export function recordColumns(codeColumns?: number): string {
  const codes =
    codeColumns === undefined
      ? "[COLUMNS('^c[0-9]+$')]"
      : `CAST([${Array.from({ length: codeColumns }, (_, slot) => codeColumn(slot)).join(', ')}], 'Array(UInt16)')`;
  const values = responseColumns.map(({ name, sqlType }) =>
    sqlType.startsWith('DateTime64') ? `toUnixTimestamp64Milli(${name})` : name,
  );
  return [...values, codes].join(', ');
}

const codesIndex = responseColumns.length;

export function toRecord(cells: RecordCells): ResponseRecord {
  const { head, row } = decodeValues(cells, cells[codesIndex] as number[]);
  return {
    surveyId: head.surveyId,
    responseId: head.responseId,
    submittedAt: new Date(head.submittedAtMs),
    version: head.version,
    surveyVersion: head.surveyVersion,
    outcome: head.outcome,
    completedAt: head.completedAtMs === 0 ? null : new Date(head.completedAtMs),
    ...(head.savedAtMs !== undefined && { savedAtMs: head.savedAtMs }),
    durationMs: head.durationMs < 0 ? null : head.durationMs,
    language: head.language,
    respondent: head.respondent,
    metadata: head.metadata,
    row,
  };
}

export const isTombstone = (cells: RecordCells): boolean => cells[fieldIndex.isDeleted] === 1;

export const keyOf = (cells: RecordCells): ResponseKey => ({
  submittedAtMs: cells[fieldIndex.submittedAtMs] as number,
  responseId: cells[fieldIndex.responseId] as string,
});

export const textsOf = (cells: RecordCells): readonly string[] => cells[fieldIndex.texts] as string[];
export const metadataOf = (cells: RecordCells): Record<string, string> =>
  cells[fieldIndex.metadata] as Record<string, string>;
export const codesOf = (cells: RecordCells): readonly number[] => cells[codesIndex] as number[];
