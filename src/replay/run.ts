import { type Api, waitForAnalytics } from './api.ts';
import { type Comparison, compareAll, mergeComparisons, splitAnswers, statisticOf } from './compare.ts';
import { askCrosstab, compareCrosstab, type Variable } from './crosstab.ts';
import type { Detection } from './detect.ts';
import { crosstabLines, differenceLines, questionLines, timeLines } from './report.ts';
import { type Submitted, submitRows } from './submit.ts';
import { continueSurvey, createSurvey, type ImportedSurvey } from './survey.ts';
import type { Table } from './table.ts';

export interface ReplayOptions {
  api: Api;
  table: Table;
  detection: Detection;
  digest: string;
  title: string;
  fileName: string;
  /** A survey made earlier from the same file, to continue; undefined creates one. */
  surveyId: string | undefined;
  crosstab: readonly [Variable, Variable] | undefined;
  concurrency: number;
  isVerifying: boolean;
  /** Prints a line of the result. */
  print(line: string): void;
  onProgress(done: number, total: number): void;
}

const refusalsShown = 20;

/**
 * Imports a file as a survey with responses, prints the analytics of the service, and compares. Returns whether
 * everything is equal.
 */
export async function replay(options: ReplayOptions): Promise<boolean> {
  const {
    api,
    table: { rows, remarks },
    detection,
    print,
  } = options;
  const startedAt = performance.now();
  const survey = await openSurvey(options);
  print(
    `survey ${survey.id}: ${survey.questions.length} questions, ${rows.length} rows${detection.idColumn ? `, respondents known by “${detection.idColumn.question}”` : ''}`,
  );
  for (const line of [...remarks, ...timeLines(detection.timeColumn)]) print(line);
  const submitted = await submitRows({
    ...options,
    ...detection,
    survey,
    rows,
    onProgress: (done) => options.onProgress(done, rows.length),
  });
  printSubmitted(options, submitted, performance.now() - startedAt);
  const refused = new Set(submitted.refused.map(({ row }) => row));
  const taken = rows.filter((_, place) => !refused.has(place));
  const accepted = taken.length - submitted.replayedCount;
  const analytics = await waitForAnalytics(api, survey.id, Math.max(taken.length, survey.responsesBefore + accepted));
  for (const [place, question] of survey.questions.entries())
    for (const line of questionLines(question, {
      place,
      statistic: statisticOf(analytics, question),
      ...splitAnswers(question, taken),
    }))
      print(line);
  const compared = mergeComparisons([
    compareAll(survey.questions, taken, analytics),
    ...(await compareRequestedCrosstab(options, survey, taken)),
  ]);
  print('');
  return options.isVerifying ? printVerdict(options, survey, submitted, compared) : refused.size === 0;
}

function openSurvey({
  api,
  title,
  fileName,
  detection: { questions },
  surveyId,
}: ReplayOptions): Promise<ImportedSurvey> {
  return surveyId === undefined
    ? createSurvey(api, { title, description: `Responses of ${fileName}`, questions })
    : continueSurvey(api, surveyId, questions);
}

function printSubmitted(
  { print, table: { rows } }: ReplayOptions,
  { refused, replayedCount }: Submitted,
  tookMs: number,
): void {
  print(
    `submitted ${rows.length - refused.length} of ${rows.length} rows in ${(tookMs / 1000).toFixed(1)} s${replayedCount > 0 ? `; the service had ${replayedCount} of them already` : ''}`,
  );
  for (const { row, message } of refused.slice(0, refusalsShown)) print(`refused: row ${row + 1}: ${message}`);
  if (refused.length > refusalsShown) print(`… and ${refused.length - refusalsShown} more`);
}

async function compareRequestedCrosstab(
  { api, crosstab, print }: ReplayOptions,
  survey: ImportedSurvey,
  rows: Table['rows'],
): Promise<Comparison[]> {
  if (!crosstab) return [];
  const reply = await askCrosstab(api, survey, crosstab);
  for (const line of crosstabLines(crosstab, reply)) print(line);
  return [compareCrosstab({ questions: survey.questions, rows, variables: crosstab, reply })];
}

function printVerdict(
  { print }: ReplayOptions,
  { questions }: ImportedSurvey,
  { refused }: Submitted,
  { cells, differences }: Comparison,
): boolean {
  for (const line of differenceLines(differences)) print(line);
  const isEqual = differences.length === 0 && refused.length === 0;
  if (isEqual) print(`verified: ${cells} cells of ${questions.length} questions equal`);
  else print(`not verified: ${differences.length} of ${cells} cells differ, ${refused.length} rows refused`);
  return isEqual;
}
