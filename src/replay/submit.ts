import { z } from 'zod';
import { type Api, RequestRefused } from './api.ts';
import { answersOf, metadataOf } from './row-answers.ts';
import type { ImportedSurvey } from './survey.ts';
import type { Column, Row } from './table.ts';

export interface SubmitOptions {
  api: Api;
  survey: ImportedSurvey;
  rows: readonly Row[];
  /** Hash of the file, part of the idempotency keys, so that no row is counted twice in a survey within 48 hours. */
  digest: string;
  idColumn: Column | undefined;
  /** The time of the answer; sent as the metadata `answeredAt`, since the service dates responses by their arrival. */
  timeColumn: Column | undefined;
  concurrency: number;
  onProgress(done: number): void;
}

export interface Submitted {
  /** Refused rows with the service's message; `row` from 0. */
  refused: readonly { row: number; message: string }[];
  /** Rows that were accepted by an earlier run. */
  replayedCount: number;
}

/**
 * Submits every row, `concurrency` at a time. Throws an Error if the survey accepts no responses or the service is
 * unavailable.
 */
export async function submitRows({
  api,
  survey,
  rows,
  digest,
  idColumn,
  timeColumn,
  concurrency,
  onProgress,
}: SubmitOptions): Promise<Submitted> {
  const refused: { row: number; message: string }[] = [];
  let [next, done, replayedCount, isStopped] = [0, 0, 0, false];
  const submitRow = async (place: number): Promise<void> => {
    const row = rows[place] ?? [];
    const body = { answers: answersOf(survey.questions, row), ...metadataOf({ idColumn, timeColumn }, row) };
    try {
      const { isReplay } = await api.call(z.unknown(), ['POST', `/responses/surveys/${survey.id}/submit`], {
        body,
        idempotencyKey: `${digest}-${place + 1}`,
        isPublic: true,
      });
      replayedCount += isReplay ? 1 : 0;
    } catch (error) {
      if (!isAboutRow(error)) throw error;
      refused.push({ row: place, message: error.message });
    }
    done += 1;
    onProgress(done);
  };
  const submitLoop = async (): Promise<void> => {
    while (!isStopped && next < rows.length) await submitRow(next++);
  };
  const loops = Array.from({ length: Math.min(concurrency, rows.length) }, submitLoop);
  try {
    await Promise.all(loops);
  } finally {
    isStopped = true;
    await Promise.allSettled(loops);
  }
  return { refused: refused.sort((a, b) => a.row - b.row), replayedCount };
}

/** Whether only this row is refused, as invalid or too large. */
const isAboutRow = (error: unknown): error is RequestRefused =>
  error instanceof RequestRefused && (error.status === 400 || error.status === 413);
