import type { CrosstabCounts } from '../../src/domain/analytics/crosstab-counts.ts';
import type { Dimension } from '../../src/domain/questions/contract.ts';

export const categories = (...codes: number[]) =>
  codes.map((code) => ({ code, value: `v${code}`, text: `Text ${code}` }));

/** Of a question with one answer. */
export const single = (slot: number, ...codes: number[]): Dimension => ({
  categories: categories(...codes),
  source: { kind: 'code', slot },
});

/** Of a question with several answers, which are the bits of words. */
export const several = (slots: number[], ...codes: number[]): Dimension => ({
  categories: categories(...codes),
  source: { kind: 'bits', slots },
});

/** How many responses each cell of two crossed dimensions has. */
export const cellsOf = ({ cells }: CrosstabCounts) =>
  new Map(cells.map(({ row, column, count }) => [`${row}×${column}`, count]));
