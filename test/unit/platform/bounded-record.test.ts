import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { boundedRecord } from '../../../src/platform/bounded-record.ts';
import { validate } from '../../../src/platform/zod-messages.ts';

describe('a record of at most 20 pairs', () => {
  let checked = 0;
  const count = () => {
    checked += 1;
    return true;
  };
  const record = boundedRecord(z.string().refine(count), z.string().max(3), { maxProperties: 20, noun: 'pairs' });
  const schema = z.strictObject({ notes: record.optional() });
  const pairs = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, at) => [`k${at}`, 'v']));

  it('takes twenty, none, and what is left out', () => {
    for (const given of [{ notes: pairs(20) }, { notes: {} }, {}])
      assert.deepEqual(validate(schema, given), { isValid: true, data: given });
  });

  it('checks no pair of a larger one', () => {
    checked = 0;
    assert.deepEqual(validate(schema, { notes: pairs(20_000) }), {
      isValid: false,
      issues: [{ path: 'notes', message: 'must have at most 20 pairs' }],
    });
    assert.equal(checked, 0);
  });

  it('refuses what is no object, and wrong values', () => {
    for (const given of ['a', 1, null, ['a']])
      assert.deepEqual(validate(schema, { notes: given }), {
        isValid: false,
        issues: [{ path: 'notes', message: 'must be an object' }],
      });
    assert.deepEqual(validate(schema, { notes: { a: 'long' } }), {
      isValid: false,
      issues: [{ path: 'notes.a', message: 'must have at most 3 characters' }],
    });
  });
});
