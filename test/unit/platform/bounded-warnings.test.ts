import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBoundedWarnings } from '../../../src/platform/bounded-warnings.ts';

test('warnings in a tight loop are three lines in ten seconds, and what was left out is counted', () => {
  const lines: object[] = [];
  let nowMs = 0;
  const warn = createBoundedWarnings({ warn: (fields: object) => void lines.push(fields) } as never, () => nowMs);
  for (let n = 0; n < 500; n += 1, nowMs += 10) warn({ n }, 'away');
  assert.deepEqual(lines, [{ n: 0 }, { n: 1 }, { n: 2 }]);
  nowMs = 10_000;
  warn({ n: 500 }, 'away');
  warn({ n: 501 }, 'away');
  assert.deepEqual(lines.slice(3), [{ n: 500, leftOut: 497 }, { n: 501 }]);
});
