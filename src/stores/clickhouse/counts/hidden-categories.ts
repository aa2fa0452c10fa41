import type { Category, Dimension } from '../../../domain/questions/contract.ts';
import type { ColumnOf } from '../read/selection.ts';
import { dimensionWords } from './dimension.ts';
import type { Scan, ScanRow } from './scans.ts';

/**
 * Which hidden categories of a dimension anybody in the whole survey fell into: rows of (0, code, '', [responses]). For answers, not for
 * findings. Nothing else of the answers is grouped by: of several that can be combined, there may be as many combinations as responses.
 */
export function hiddenCategoryScan({ categories, source }: Dimension, columnOf: ColumnOf): Scan {
  const { words, codesOf } = dimensionWords(
    { categories: categories.filter(isHiddenCategory), source },
    columnOf,
    '[]',
  );
  const names = words.map((_, index) => `w${index}`);
  return {
    isAdditive: true,
    isOfWholeSurvey: true,
    statement: (from) =>
      `SELECT 0 AS place, arrayJoin(${codesOf(names)}) AS code, '' AS label, [sum(amount)] AS figures FROM
        (SELECT ${words.map((word, index) => `${word} AS w${index}`).join(', ')}, count() AS amount FROM ${from} GROUP BY ${names.join(', ')}) GROUP BY code`,
  };
}

export function collectAnsweredCategories(rows: readonly ScanRow[]): Set<number> {
  const counts = new Map<number, number>();
  for (const [, code, , [amount]] of rows) counts.set(code, (counts.get(code) ?? 0) + (amount ?? 0));
  return new Set([...counts].flatMap(([code, count]) => (count > 0 ? [code] : [])));
}

/** Only of what was taken out is it asked. Of findings it is not: theirs are shown where the selection has them. */
export const hasHiddenCategories = ({ categories, source }: Dimension): boolean =>
  source.kind !== 'annotation' && categories.some(isHiddenCategory);

const isHiddenCategory = ({ isHidden }: Category): boolean => isHidden === true;
