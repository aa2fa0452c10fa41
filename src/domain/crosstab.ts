import { validationProblem, type Finding } from '../errors.ts';
import { associationOf } from './chi-square.ts';
import { sumsOf, type CrosstabCounts, type Sum } from './crosstab-counts.ts';
import { findingFilter, findingKindOf, type KnownFindings } from './finding-variables.ts';
import type { Category, Dimension } from './questions/contract.ts';
import { registry } from './questions/registry.ts';
import { compareColumns, comparisonsIn, type Correction } from './significance.ts';
import type { SurveyWithQuestions } from './survey.ts';

/** A table of so many cells takes about 20 MB as JSON; one of two scales of 10,000 points would take all the memory there is. */
const cellsAtMost = 200_000;
/** More would keep everybody else waiting, and their names could fill a reply. */
const comparisonsAtMost = 1_000_000;
const usualLevel = 0.95;

/** How the columns of a table are compared; what is not given is 0.95 without a correction. */
export interface ComparisonAsked {
  significance?: number | undefined;
  correction?: Correction | undefined;
}

/**
 * A crosstab of counted cells (contract §8). Refuses a table with more than 200,000 cells (VALIDATION_ERROR). Percentages are of
 * respondents who answered both questions, weighted where weights were counted; where a question takes several answers they may add up to
 * more than 100. Columns are compared by their percentages and effective bases; a table that would need more than a million comparisons has
 * none, or is refused if they were asked for. Chi-square and Cramér's V are those of the (weighted) counts shown.
 */
export function interpretCrosstab({ rows, columns, ...counts }: CrosstabCounts & { rows: Dimension; columns: Dimension }, asked: ComparisonAsked = {}) {
  const sums = sumsOf(counts);
  const rowHeads = headsOf(rows.categories, sums.row);
  const columnHeads = headsOf(columns.categories, sums.column);
  if (rowHeads.length * columnHeads.length > cellsAtMost)
    throw validationProblem([{ path: 'questionId2', message: `the table would have ${rowHeads.length} rows and ${columnHeads.length} columns; it can have ${cellsAtMost} cells at most` }]);
  const table = rowHeads.map((row) => columnHeads.map((column) => sums.cell(row.code, column.code)));
  const over = significantIn(table, columnHeads, asked);
  return {
    rows: rowHeads.map(presentHead),
    columns: columnHeads.map(presentHead),
    cells: table.map((line, r) =>
      line.map(({ count, weight }, c) => ({
        count,
        weightedCount: weight,
        rowPercent: percent(weight, rowHeads[r]?.weight ?? 0),
        columnPercent: percent(weight, columnHeads[c]?.weight ?? 0),
        totalPercent: percent(weight, sums.total.weight),
        significantOver: over?.[r]?.[c] ?? [],
      })),
    ),
    total: sums.total.count,
    weightedTotal: sums.total.weight,
    effectiveBase: sums.total.effectiveBase,
    ...associationOf(table.map((line) => line.map(({ weight }) => weight))),
    ...(counts.weighted && { unweightable: counts.weighted.unweightable }),
  };
}

type Head = Category & Sum;

const presentHead = ({ value, text, count, weight, effectiveBase }: Head) => ({ value, text, total: count, weightedTotal: weight, effectiveBase });

/** A part never weighs more than the whole, but sums of weights are rounded. */
const share = (part: number, whole: number): number => (whole === 0 ? 0 : Math.min(1, part / whole));
const percent = (part: number, whole: number): number => (whole === 0 ? 0 : Math.min(100, (part / whole) * 100));

/** The categories with their totals; hidden ones only where somebody chose them. */
function headsOf(categories: readonly Category[], totalOf: (code: number) => Sum): Head[] {
  return categories.map((category) => ({ ...category, ...totalOf(category.code) })).filter(({ count, isHidden }) => count > 0 || isHidden !== true);
}

/** By row and column; undefined where nothing was compared. */
function significantIn(table: readonly (readonly Sum[])[], heads: readonly Head[], { significance, correction }: ComparisonAsked): string[][][] | undefined {
  const comparisons = comparisonsIn(table.length, heads.filter(({ count }) => count > 0).length);
  if (comparisons > comparisonsAtMost) {
    if (significance === undefined && correction === undefined) return undefined;
    const path = significance === undefined ? 'correction' : 'significance';
    throw validationProblem([{ path, message: `the columns would take ${comparisons} comparisons; a table can have ${comparisonsAtMost} at most` }]);
  }
  const columns = heads.map(({ value, weight, effectiveBase }, c) => ({ value, base: effectiveBase, shares: table.map((line) => share(line[c]?.weight ?? 0, weight)) }));
  return compareColumns(columns, table.length, { level: significance ?? usualLevel, correction });
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
