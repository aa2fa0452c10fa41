import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cutText } from '../../../src/platform/cut-text.ts';

describe('a text that is cut', () => {
  it('ends between characters', () => {
    assert.deepEqual(
      [
        cutText('abc', 3),
        cutText('abcd', 3),
        cutText('ab😀', 3),
        cutText('ab😀', 4),
        cutText('ab😀c', 4),
        cutText('', 3),
      ],
      ['abc', 'abc', 'ab', 'ab😀', 'ab😀', ''],
    );
  });
});
