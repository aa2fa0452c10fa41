import { validationProblem, type Finding } from '../errors.ts';
import { associationOf } from './chi-square.ts';
import { findingFilter, findingKindOf, type KnownFindings } from './finding-variables.ts';
import type { Category, Dimension } from './questions/contract.ts';
import { registry } from './questions/registry.ts';
import type { SurveyWithQuestions } from './survey.ts';

export interface CrosstabCounts {
  rows: Dimension;
  columns: Dimension;
  cells: readonly { row: number; column: number; count: number }[];
  /** Respondents in a row (column) who answered both questions. */
  rowTotals: ReadonlyMap<number, number>;
  columnTotals: ReadonlyMap<number, number>;
  /** Respondents who answered both questions. */
  total: number;
}

const percent = (count: number, base: number): number => (base === 0 ? 0 : (count / base) * 100);

/** A table of so many cells takes about 20 MB as JSON; one of two scales of 10,000 points would take all the memory there is. */
const cellsAtMost = 200_000;

/**
 * A crosstab of counted cells (contract §8). Refuses a table with more than 200,000 cells (VALIDATION_ERROR). Percentages are of respondents who answered both questions; where a question takes several
 * answers they may add up to more than 100.
 */
export function interpretCrosstab({ rows, columns, cells, rowTotals, columnTotals, total }: CrosstabCounts) {
  const counted = new Map(cells.map(({ row, column, count }) => [`${row} ${column}`, count]));
  const rowHeads = headsOf(rows.categories, rowTotals);
  const columnHeads = headsOf(columns.categories, columnTotals);
  if (rowHeads.length * columnHeads.length > cellsAtMost)
    throw validationProblem([{ path: 'questionId2', message: `the table would have ${rowHeads.length} rows and ${columnHeads.length} columns; it can have ${cellsAtMost} cells at most` }]);
  const table = rowHeads.map((row) => columnHeads.map((column) => counted.get(`${row.code} ${column.code}`) ?? 0));
  return {
    rows: rowHeads.map(presentHead),
    columns: columnHeads.map(presentHead),
    cells: table.map((line, r) =>
      line.map((count, c) => ({
        count,
        weightedCount: count,
        rowPercent: percent(count, rowHeads[r]?.total ?? 0),
        columnPercent: percent(count, columnHeads[c]?.total ?? 0),
        totalPercent: percent(count, total),
        significantOver: [],
      })),
    ),
    total,
    weightedTotal: total,
    effectiveBase: total,
    ...associationOf(table),
  };
}

/** Without weights every response weighs one. */
const presentHead = ({ value, text, total }: Category & { total: number }) => ({ value, text, total, weightedTotal: total });

/** The categories with their totals; hidden ones only where somebody chose them. */
function headsOf(categories: readonly Category[], totals: ReadonlyMap<number, number>): (Category & { total: number })[] {
  return categories.map((category) => ({ ...category, total: totals.get(category.code) ?? 0 })).filter(({ total, isHidden }) => total > 0 || isHidden !== true);
}

/**
 * Reads `questionId:optionValue`, or `questionId:rowValue:columnValue` for a MATRIX or RANKING; option values may hold colons. Where
 * findings are given, also a filter by them.
 */
export function parseFilter(survey: SurveyWithQuestions, text: string, findings?: KnownFindings): { dimension: Dimension; code: number } | Finding {
  if (findings && findingKindOf(text) !== undefined) return findingFilter(survey, text, findings);
  const at = text.indexOf(':');
  const question = survey.questions.find((item) => !item.isHidden && item.id === text.slice(0, Math.max(0, at)));
  if (at < 0 || !question) return { path: '', message: 'must be questionId:optionValue with a question of this survey' };
  const rest = text.slice(at + 1);
  for (const { row, value } of readings(rest)) {
    const dimension = registry[question.type].dimension(question, row);
    const category = typeof dimension === 'string' ? undefined : dimension.categories.find((item) => item.value === value);
    if (typeof dimension !== 'string' && category) return { dimension, code: category.code };
  }
  const whole = registry[question.type].dimension(question);
  return { path: '', message: typeof whole === 'string' ? `the question ${whole}` : 'names no value of the question' };
}

/** The text as a value, then with every colon as the border between a row and a value. */
function readings(text: string): { row?: string; value: string }[] {
  const found: { row?: string; value: string }[] = [{ value: text }];
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) found.push({ row: text.slice(0, at), value: text.slice(at + 1) });
  return found;
}
