import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { prevailingSentiment } from '../../../src/ai/analysis-results.ts';

describe('the sentiment of a theme', () => {
  it('is the most frequent one, and mixed only where praise and complaint are equal and most frequent', () => {
    for (const [positive, negative, neutral, mixed, expected] of [
      [1, 1, 98, 0, 'neutral'],
      [30, 30, 31, 9, 'neutral'],
      [2, 2, 1, 3, 'mixed'],
      [40, 40, 20, 0, 'mixed'],
      [2, 2, 2, 0, 'mixed'],
      [3, 2, 0, 0, 'positive'],
      [2, 3, 1, 0, 'negative'],
      [0, 0, 1, 0, 'neutral'],
    ] as const)
      assert.equal(
        prevailingSentiment({ positive, negative, neutral, mixed }),
        expected,
        `${positive} positive, ${negative} negative, ${neutral} neutral, ${mixed} mixed`,
      );
  });
});
