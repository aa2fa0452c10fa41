import assert from 'node:assert/strict';
import { sliceAssociation } from '../../src/domain/analytics/chi-square.ts';
import { runAtOnce } from '../../src/platform/slices.ts';

/** Of a question that takes one answer. */
export const source = { kind: 'code', slot: 0 } as const;

/** Categories of these values, in the order of their codes. */
export const categories = (...values: string[]) =>
  values.map((value, index) => ({ code: index + 1, value, text: value.toUpperCase() }));

export const isNear = (actual: number | null, expected: number, tolerance = 1e-9) =>
  assert.ok(
    actual !== null && Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)),
    `${actual} is not ${expected}`,
  );

/** Chi-square and Cramér’s V of a table without pauses. */
export const associationOf = (...given: Parameters<typeof sliceAssociation>) => runAtOnce(sliceAssociation(...given));
