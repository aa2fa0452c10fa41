import { nobody, type Sum } from '../../src/domain/analytics/crosstab-counts.ts';

/** So many respondents, or an effective base, where weights do not matter. */
export const plain = (base: number): Sum =>
  base === 0 ? nobody : { count: Math.ceil(base), weight: base, squares: base, effectiveBase: base };

/** Respondents with these weights. */
export const weighted = (...weights: number[]): Sum => {
  const sumOf = (power: number) => weights.reduce((sum, weight) => sum + weight ** power, 0);
  return weights.length === 0
    ? nobody
    : {
        count: weights.length,
        weight: sumOf(1),
        squares: sumOf(2),
        effectiveBase: sumOf(2) === 0 ? 0 : sumOf(1) ** 2 / sumOf(2),
      };
};

/** Respondents of two groups together. */
export const both = (one: Sum, other: Sum): Sum => {
  const weight = one.weight + other.weight;
  const squares = one.squares + other.squares;
  return { count: one.count + other.count, weight, squares, effectiveBase: squares === 0 ? 0 : weight ** 2 / squares };
};
