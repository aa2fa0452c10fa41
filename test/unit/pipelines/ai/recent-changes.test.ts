import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRecentChanges } from '../../../../src/pipelines/ai/recent-changes.ts';

describe('recent changes of surveys', () => {
  it('are known for a minute, by the last of each survey', (t) => {
    let nowMs = 1000;
    t.mock.method(performance, 'now', () => nowMs);
    const changes = createRecentChanges();
    const since = (sinceMs: number) => ['a', 'b', 'c'].map((id) => changes.hasChangedSince(id, sinceMs));
    changes.record('a');
    nowMs = 2000;
    changes.record('b');
    assert.deepEqual(
      [since(1000), since(1001), since(2001)],
      [
        [true, true, false],
        [false, true, false],
        [false, false, false],
      ],
    );
    nowMs = 3000;
    changes.record('a');
    assert.deepEqual(since(2500), [true, false, false]);
    nowMs = 62_500;
    changes.record('c');
    assert.deepEqual(since(0), [true, false, true], 'those of long ago are forgotten');
  });
});
