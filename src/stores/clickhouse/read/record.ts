import type { AnswerRow } from '../../../domain/questions/contract.ts';

/** A stored response, its newest version. */
export interface ResponseRecord {
  surveyId: string;
  responseId: string;
  submittedAt: Date;
  version: number;
  surveyVersion: number;
  isComplete: boolean;
  completedAt: Date | null;
  durationMs: number | null;
  language: string;
  /** '' where none was given. */
  respondent: string;
  metadata: Record<string, string>;
  row: AnswerRow;
}

export type RecordCells = [
  surveyId: string,
  responseId: string,
  submittedAtMs: number,
  version: number,
  surveyVersion: number,
  isComplete: number,
  completedAtMs: number,
  durationMs: number,
  language: string,
  respondent: string,
  metadata: Record<string, string>,
  numbers: number[],
  texts: string[],
  codes: number[],
];

/** The columns of a record; `codeColumns` bounds the code positions read, all of them without it. */
export function recordColumns(codeColumns?: number): string {
  const codes =
    codeColumns === undefined
      ? "[COLUMNS('^c[0-9]+$')]"
      : `CAST([${Array.from({ length: codeColumns }, (_, slot) => `c${slot}`).join(', ')}], 'Array(UInt16)')`;
  return `survey_id, response_id, toUnixTimestamp64Milli(submitted_at), version, survey_version, is_complete, toUnixTimestamp64Milli(completed_at), duration_ms,
    language, respondent, metadata, numbers, texts, ${codes}`;
}

export function toRecord([
  surveyId,
  responseId,
  submittedAtMs,
  version,
  surveyVersion,
  isComplete,
  completedAtMs,
  durationMs,
  language,
  respondent,
  metadata,
  numbers,
  texts,
  codes,
]: RecordCells): ResponseRecord {
  return {
    surveyId,
    responseId,
    submittedAt: new Date(submittedAtMs),
    version,
    surveyVersion,
    isComplete: isComplete === 1,
    completedAt: completedAtMs === 0 ? null : new Date(completedAtMs),
    durationMs: durationMs < 0 ? null : durationMs,
    language,
    respondent,
    metadata,
    row: { codes, numbers, texts },
  };
}
