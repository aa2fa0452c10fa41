import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { boundedArray } from '../../../src/platform/bounded-array.ts';
import { validate } from '../../../src/platform/zod-messages.ts';

describe('a list of at most 5,000 items', () => {
  let checked = 0;
  const count = () => {
    checked += 1;
    return true;
  };
  const item = z.strictObject({ id: z.string().max(3), more: z.unknown().refine(count).optional() });
  const schema = z.strictObject({ answers: boundedArray(item, 5000) });
  const bad = { id: 'long', more: 1 };

  it('takes as many, and none', () => {
    for (const answers of [[], Array(5000).fill({ id: 'a' })])
      assert.deepEqual(validate(schema, { answers }), { isValid: true, data: { answers } });
  });

  it('checks no item of a longer one', () => {
    checked = 0;
    assert.deepEqual(validate(schema, { answers: Array(50_000).fill(bad) }), {
      isValid: false,
      issues: [{ path: 'answers', message: 'must have at most 5000 items' }],
    });
    assert.equal(checked, 0);
  });

  it('checks no item behind the twentieth that is bad', () => {
    checked = 0;
    const result = validate(schema, { answers: [{ id: 'a' }, ...Array(4000).fill(bad)] });
    assert.deepEqual(
      result.isValid ? [] : result.issues,
      Array.from({ length: 20 }, (_, n) => ({
        path: `answers.${n + 1}.id`,
        message: 'must have at most 3 characters',
      })),
    );
    assert.equal(checked, 40);
  });

  it('refuses what is no list, with as many issues as a refusal shows', () => {
    for (const [given, message] of [
      [{ answers: 'a' }, 'must be a list'],
      [{ answers: null }, 'must be a list'],
      [{}, 'is needed'],
    ] as const)
      assert.deepEqual(validate(schema, given), { isValid: false, issues: [{ path: 'answers', message }] });
    const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, 0]));
    const result = validate(schema, { answers: [], ...unknown });
    assert.equal(result.isValid ? 0 : result.issues.length, 20);
  });
});
