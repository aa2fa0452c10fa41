import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Problem } from '../../../../src/errors.ts';
import { newId } from '../../../../src/platform/ids.ts';
import {
  sqlDouble,
  sqlDoubleArray,
  sqlInteger,
  sqlMoment,
  sqlString,
  sqlUuid,
} from '../../../../src/stores/clickhouse/sql-literals.ts';

test('a string literal in SQL ends only at its own quote', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(`'`, '\\', '"', '\0', '\n', 'a', '四', ';', '-') }), (value) => {
      const literal = sqlString(value);
      const inner = literal.slice(1, -1).replace(/\\(?:['\\]|0)/g, '');
      assert.ok(
        literal.startsWith(`'`) &&
          literal.endsWith(`'`) &&
          !inner.includes(`'`) &&
          !inner.includes('\\') &&
          !inner.includes('\0'),
        literal,
      );
    }),
  );
});

test('SQL literals refuse malformed ids, fractions as integers, and numbers that are not finite', () => {
  const id = newId();
  assert.equal(sqlUuid(id), `toUUID('${id}')`);
  for (const wrong of ['', `${id}'`, `${id}\n`, id.slice(1), `x${id.slice(1)}`])
    assert.throws(
      () => sqlUuid(wrong),
      (error: unknown) => error instanceof Problem && error.code === 'NOT_FOUND',
    );
  for (const wrong of [1.5, Number.NaN, Infinity, 2 ** 53]) assert.throws(() => sqlInteger(wrong), RangeError);
  for (const wrong of [Number.NaN, -Infinity]) {
    assert.throws(() => sqlDouble(wrong), RangeError);
    assert.throws(() => sqlDoubleArray([1, wrong]), RangeError);
  }
  assert.equal(
    sqlDoubleArray([0, -5, 0.1, 1e21, -1e-7, 2 ** 53 - 1]),
    '[0.0, -5.0, 0.1, 1e+21, -1e-7, 9007199254740991.0]',
  );
  assert.throws(() => sqlMoment(new Date(Number.NaN)), RangeError);
});
