import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fairPriority } from '../../../src/pipelines/queues.ts';

describe('jobs of a user', () => {
  it('are put off by a minute for each job that the user has already, but not for ever', () => {
    const minute = 60_000;
    const nowMs = Date.parse('2027-01-15T07:59:30.000Z');
    const many = Array.from({ length: 20 }, (_, openBefore) => fairPriority(openBefore, nowMs));
    const other = fairPriority(0, nowMs + minute);
    assert.deepEqual([many.filter((mine) => mine < other).length, many.filter((mine) => mine > other).length], [1, 18]);
    assert.ok(many.every((mine) => mine < fairPriority(0, nowMs + 20 * minute)));
  });
});
