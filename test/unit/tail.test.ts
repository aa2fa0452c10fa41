import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTail } from '../../src/pipelines/tail.ts';

const minuteMs = 60_000;
const startMs = 1_800_000_000_000;

/** Acknowledges an entry of so many rows each second, and gives how many rows are still kept, and from when. */
function run({ seconds, rowsEach, hasRoom = () => false }: { seconds: number; rowsEach: number; hasRoom?(second: number): boolean }) {
  let now = 0;
  const tail = createTail({ hasRoom: () => hasRoom(now) });
  let from = '';
  for (let second = 0; second < seconds; second += 1) {
    now = second;
    tail.add([{ id: `${startMs + second * 1000}-0`, count: rowsEach }]);
    from = tail.keepFrom(startMs + second * 1000);
  }
  const keptSeconds = seconds - (Number(from.split('-')[0]) - startMs) / 1000;
  return { from, keptSeconds, rows: Math.min(seconds, keptSeconds) * rowsEach };
}

describe('the tail of a shard', () => {
  it('reaches back ten minutes while little comes in', () => {
    const { keptSeconds } = run({ seconds: 3600, rowsEach: 1 });
    assert.ok(keptSeconds >= 600 && keptSeconds <= 602, String(keptSeconds));
  });

  it('reaches back ten minutes while much comes in, as long as there is room', () => {
    const { keptSeconds } = run({ seconds: 1500, rowsEach: 7000, hasRoom: () => true });
    assert.ok(keptSeconds >= 600 && keptSeconds <= 602, String(keptSeconds));
  });

  it('gives room back when there is none any more', () => {
    const { rows } = run({ seconds: 500, rowsEach: 1000, hasRoom: (second) => second < 490 });
    assert.ok(rows >= 100_000 && rows <= 101_000, String(rows));
  });

  it('holds at least 100,000 rows, and hardly more, while much comes in and there is no room', () => {
    for (const rowsEach of [999, 1000, 7000]) {
      const { rows } = run({ seconds: 500, rowsEach });
      assert.ok(rows >= 100_000 && rows <= 100_000 + rowsEach, `${rows} of ${rowsEach} each`);
    }
  });

  it('never lets go of the last acknowledged entry, however old, nor of anything before there is one', () => {
    const tail = createTail({ hasRoom: () => true });
    assert.equal(tail.keepFrom(startMs), '');
    tail.add([{ id: `${startMs}-3`, count: 5 }]);
    assert.equal(tail.keepFrom(startMs + 60 * minuteMs), `${startMs}-3`);
  });
});
