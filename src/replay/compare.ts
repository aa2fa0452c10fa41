import type { Analytics, Statistic } from './replies.ts';
import type { Row } from './table.ts';
import type { CountPair, Counts, ImportedQuestion } from './types/adapter.ts';
import { typeAdapters } from './types/adapters.ts';

export interface Difference {
  /** The question or other count. */
  where: string;
  cell: string;
  inFile: number;
  inService: number;
}

export interface Comparison {
  /** Number of compared cells. */
  cells: number;
  differences: readonly Difference[];
}

/** The rows of the file that answer a question. */
export interface AnswerSplit {
  /** Rows whose answer was submitted. */
  submitted: readonly Row[];
  /** Number of answers that could not be submitted, by reason. */
  leftOut: ReadonlyMap<string, number>;
}

export function splitAnswers({ found }: ImportedQuestion, rows: readonly Row[]): AnswerSplit {
  const kind = typeAdapters[found.type];
  const submitted: Row[] = [];
  const leftOut = new Map<string, number>();
  for (const row of rows.filter((candidate) => kind.isFilled(found, candidate))) {
    const problem = kind.problem(found, row);
    if (problem === undefined) submitted.push(row);
    else leftOut.set(problem, (leftOut.get(problem) ?? 0) + 1);
  }
  return { submitted, leftOut };
}

/** Compares the counts of analytics with the file: responses, and every cell of every question. */
export function compareAll(
  questions: readonly ImportedQuestion[],
  rows: readonly Row[],
  analytics: Analytics,
): Comparison {
  const totals = compareCells('responses', {
    inFile: { all: rows.length, complete: rows.length },
    inService: { all: analytics.totalResponses, complete: analytics.completeResponses },
  });
  return mergeComparisons([
    totals,
    ...questions.map((question) => compareQuestion(question, rows, statisticOf(analytics, question))),
  ]);
}

export function statisticOf({ questionStats }: Analytics, { id, found }: ImportedQuestion): Statistic {
  const statistic = questionStats.find(({ questionId }) => questionId === id);
  if (!statistic) throw new Error(`analytics does not show the question “${found.text}”`);
  return statistic;
}

function compareQuestion(question: ImportedQuestion, rows: readonly Row[], statistic: Statistic): Comparison {
  const { submitted } = splitAnswers(question, rows);
  const base = {
    inFile: { answered: submitted.length, skipped: rows.length - submitted.length },
    inService: { answered: statistic.responseCount, skipped: statistic.skippedCount },
  };
  const { text, type } = question.found;
  return mergeComparisons([
    compareCells(text, base),
    compareCells(text, typeAdapters[type].count(question, submitted, statistic)),
  ]);
}

/** Compares cell by cell; a missing cell counts as 0. */
export function compareCells(where: string, { inFile, inService }: CountPair): Comparison {
  const [file, service] = [flat(inFile), flat(inService)];
  const cells = [...new Set([...file.keys(), ...service.keys()])];
  const both = cells.map((cell) => ({ where, cell, inFile: file.get(cell) ?? 0, inService: service.get(cell) ?? 0 }));
  return { cells: cells.length, differences: both.filter((one) => !isEqual(one.inFile, one.inService)) };
}

export function mergeComparisons(all: readonly Comparison[]): Comparison {
  return {
    cells: all.reduce((sum, { cells }) => sum + cells, 0),
    differences: all.flatMap(({ differences }) => differences),
  };
}

/**
 * Integers must be equal; other numbers may differ by 1e-9, as the last digits of means depend on the order of
 * addition.
 */
function isEqual(a: number, b: number): boolean {
  return (
    a === b ||
    (!(Number.isInteger(a) && Number.isInteger(b)) && Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b)))
  );
}

function flat(counts: Counts): Map<string, number> {
  return new Map(
    Object.entries(counts).flatMap(([key, value]): [string, number][] =>
      typeof value === 'number'
        ? [[key, value]]
        : Object.entries(value).map(([inner, count]) => [`${key} › ${inner}`, count]),
    ),
  );
}
