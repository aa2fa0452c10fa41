import assert from 'node:assert/strict';

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
