import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { registry } from '../domain/questions/registry.ts';
import { answersOf, isAnswered, isSubmittable, type MadeQuestion } from './answers.ts';
import type { Api } from './api.ts';
import type { Detection, FoundQuestion } from './detect.ts';
import type { Table } from './table.ts';
import { compare, countFile, crossFile, type Difference } from './verify.ts';

export interface RunOptions {
  api: Api;
  table: Table;
  detection: Detection;
  fileDigest: string;
  title: string;
  concurrency: number;
  /** Wordings of the two questions to cross; without them the first two with options are taken. */
  crosstab: readonly [string, string] | undefined;
  print(line: string): void;
  progress(text: string): void;
}

interface Described {
  id: string;
  options: { id: string; text: string; value: string }[];
  settings: { rows?: { id: string; text: string; value: string }[] };
}

/** Makes the survey, submits every row, waits until analytics shows them all, prints and compares. Gives the differences. */
export async function runReplay(options: RunOptions): Promise<Difference[]> {
  const { api, table, print } = options;
  const { data: survey } = await api.call('POST', '/surveys', { title: options.title.slice(0, 300), submissionRateLimit: 10_000_000 });
  const surveyId = String(survey['id']);
  const questions: MadeQuestion[] = [];
  for (const found of options.detection.questions) questions.push(await makeQuestion(api, surveyId, found));
  await api.call('POST', `/surveys/${surveyId}/publish`);
  print(`survey ${surveyId}: ${questions.length} questions, ${table.rows.length} responses`);
  await submitAll(options, surveyId, questions);
  const analytics = await settled(api, surveyId, table.rows.length);
  const found = printAndCompare(options, questions, analytics);
  const crossed = await crossTwo(options, surveyId, questions);
  const differences = [...found.differences, ...crossed.differences];
  for (const { question, cell, inFile, inService } of differences) print(`DIFFERS ${question} · ${cell}: ${inFile} in the file, ${inService} in the service`);
  if (differences.length === 0) print(`verified: ${found.cells + crossed.cells} cells of ${found.questions} questions equal`);
  return differences;
}

async function makeQuestion(api: Api, surveyId: string, found: FoundQuestion): Promise<MadeQuestion> {
  const { data } = await api.call('POST', `/surveys/${surveyId}/questions`, {
    type: found.type, text: found.text.slice(0, 2000),
    ...(found.options.length > 0 && { options: found.options.map((text) => ({ text })) }),
    ...(registry[found.type].hasRows && { settings: { rows: found.columns.map(({ part }) => ({ text: part })) } }),
  });
  const { id, options, settings } = data as unknown as Described;
  const byText = (items: readonly { id: string; text: string; value: string }[], field: 'id' | 'value') => new Map(items.map((item) => [item.text, item[field]]));
  const rows = settings.rows ?? [];
  return { found, id, optionIds: byText(options, 'id'), optionValues: byText(options, 'value'), rowIds: byText(rows, 'id'), rowValues: byText(rows, 'value') };
}

async function submitAll({ api, table, detection, fileDigest, concurrency, print, progress }: RunOptions, surveyId: string, questions: readonly MadeQuestion[]): Promise<void> {
  const startedAt = performance.now();
  let next = 0;
  let done = 0;
  const lane = async () => {
    for (let index = next++; index < table.rows.length; index = next++) {
      const row = table.rows[index] ?? [];
      const id = detection.idColumn === undefined ? undefined : row[detection.idColumn];
      await api.call('POST', `/responses/surveys/${surveyId}/submit`, { answers: answersOf(questions, row), ...(id && { metadata: { respondentId: id } }) }, { 'idempotency-key': `${fileDigest}-${index}` });
      done += 1;
      if (done % 100 === 0 || done === table.rows.length) progress(`\r${done} of ${table.rows.length} submitted`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  progress('\n');
  print(`submitted in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  for (const { found } of questions) {
    const left = table.rows.filter((row) => isAnswered(found, row) && !isSubmittable(found, row)).length;
    if (left > 0) print(`left out: ${left} rankings with repeated or missing ranks (${found.text.slice(0, 60)})`);
  }
}

interface Analytics {
  totalResponses: number;
  questionStats: { questionId: string; type: string; responseCount: number; averageValue: number | null; distribution: Record<string, number | Record<string, number>> }[];
}

const patienceMs = 60_000;

async function settled(api: Api, surveyId: string, expected: number): Promise<Analytics> {
  const until = Date.now() + patienceMs;
  for (;;) {
    const data = (await api.call('GET', `/analytics/surveys/${surveyId}`)).data as unknown as Analytics;
    if (data.totalResponses >= expected || Date.now() > until) return data;
    await delay(500);
  }
}

function printAndCompare({ table, print }: RunOptions, questions: readonly MadeQuestion[], analytics: Analytics): { cells: number; questions: number; differences: Difference[] } {
  const result = { cells: 1, questions: 0, differences: [] as Difference[] };
  if (analytics.totalResponses !== table.rows.length) result.differences.push({ question: 'survey', cell: 'responses', inFile: table.rows.length, inService: analytics.totalResponses });
  for (const question of questions) {
    const statistic = analytics.questionStats.find(({ questionId }) => questionId === question.id);
    if (!statistic) throw new Error(`analytics does not show question ${question.id}`);
    print(`\n${question.found.text} (${question.found.type}, ${statistic.responseCount} answered)`);
    for (const [value, count] of Object.entries(statistic.distribution)) print(`  ${value}: ${typeof count === 'number' ? count : JSON.stringify(count)}`);
    const answered = table.rows.filter((row) => isAnswered(question.found, row) && isSubmittable(question.found, row)).length;
    const base = compare(question.found.text, { answered }, { answered: statistic.responseCount });
    const inFile = countFile(question, table.rows);
    const cells = inFile ? compare(question.found.text, inFile, statistic.distribution) : { cells: 0, differences: [] };
    result.cells += base.cells + cells.cells;
    result.questions += 1;
    result.differences.push(...base.differences, ...cells.differences);
  }
  return result;
}

const crossable = new Set(['YES_NO', 'MULTIPLE_CHOICE', 'DROPDOWN']);

async function crossTwo({ api, table, crosstab, print }: RunOptions, surveyId: string, questions: readonly MadeQuestion[]): Promise<{ cells: number; differences: Difference[] }> {
  const able = questions.filter(({ found }) => crossable.has(found.type));
  const pick = (text: string | undefined, fallback: number) => (text === undefined ? able.at(fallback) : able.find(({ found }) => found.text === text));
  const [a, b] = [pick(crosstab?.[0], 0), pick(crosstab?.[1], 1)];
  if (!a || !b) return { cells: 0, differences: [] };
  const { data } = await api.call('POST', `/analytics/surveys/${surveyId}/crosstab`, { questionId1: a.id, questionId2: b.id });
  const table2 = data as unknown as { rows: { value: string }[]; columns: { value: string }[]; cells: { count: number }[][]; total: number; chiSquare: { statistic: number | null; pValue: number | null }; cramersV: number | null };
  const counts = Object.fromEntries(table2.rows.map((row, r) => [row.value, Object.fromEntries(table2.columns.map((column, c) => [column.value, table2.cells[r]?.[c]?.count ?? 0]))]));
  print(`\n${a.found.text} × ${b.found.text} (${table2.total} answered both)`);
  print(['', ...table2.columns.map(({ value }) => value)].join('\t'));
  for (const [value, line] of Object.entries(counts)) print([value, ...Object.values(line)].join('\t'));
  print(`chi-square ${table2.chiSquare.statistic?.toFixed(3) ?? '–'}, p ${table2.chiSquare.pValue?.toExponential(2) ?? '–'}, Cramér's V ${table2.cramersV?.toFixed(3) ?? '–'}`);
  return compare(`${a.found.text} × ${b.found.text}`, crossFile(a, b, table.rows), counts);
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}
