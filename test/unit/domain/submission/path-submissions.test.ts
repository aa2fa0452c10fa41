import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareJudging } from './compare-judging.ts';

describe('submissions to random surveys with paths', () => {
  it('store exactly what a slow evaluator finds on the path, and mark the rest', () => {
    const { complete = 0, fast = 0, partial = 0 } = compareJudging(400);
    assert.ok(complete > 200 && fast > 50 && partial > 500, `${complete} ${fast} ${partial}`);
  });
});
