import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { coversOverlaps, findOverlappingMoments } from '../../../../src/stores/clickhouse/counts/overlapping-parts.ts';

const hourMs = 3_600_000;

test('parts that follow each other within an hour do not overlap', () => {
  assert.deepEqual(findOverlappingMoments([[0, 999, 10, 1000, 1999, 10, 2000, 2000, 1]]), { kind: 'none' });
  assert.deepEqual(findOverlappingMoments([]), { kind: 'none' });
});

test('parts that share one moment overlap at that moment', () => {
  assert.deepEqual(findOverlappingMoments([[0, 1000, 10, 1000, 2000, 10]]), {
    kind: 'some',
    widthMs: 1,
    buckets: new Set([1000]),
  });
  assert.deepEqual(findOverlappingMoments([[0, hourMs - 1, 9000, 777, 777, 1]]), {
    kind: 'some',
    widthMs: 1,
    buckets: new Set([777]),
  });
});

test('longer overlaps are described by wider buckets, and very large ones cover everything', () => {
  const span = findOverlappingMoments([[0, hourMs - 1, 1000, 10_000, 70_000, 2]]);
  assert.deepEqual(span, {
    kind: 'some',
    widthMs: 1000,
    buckets: new Set(Array.from({ length: 61 }, (_, index) => 10 + index)),
  });
  assert.deepEqual(findOverlappingMoments([[0, hourMs - 1, 4_000_000, 0, hourMs - 1, 2]]), { kind: 'all' });
  assert.deepEqual(findOverlappingMoments(Array.from({ length: 5001 }, () => [0, 1, 1, 5, 6, 1])), { kind: 'all' });
});

test('every moment at which two parts have rows is in an overlapping bucket', () => {
  const part = fc.tuple(
    fc.integer({ min: 0, max: hourMs - 1 }),
    fc.integer({ min: 0, max: 500_000 }),
    fc.integer({ min: 1, max: 1000 }),
  );
  fc.assert(
    fc.property(fc.array(part, { minLength: 2, maxLength: 6 }), (parts) => {
      const spans = parts.map(([from, length, rows]) => [from, Math.min(hourMs - 1, from + length), rows] as const);
      const overlapping = findOverlappingMoments([spans.flat()]);
      assert.ok(coversOverlaps(overlapping, [spans.flat()]));
      for (const [index, [from, to]] of spans.entries())
        for (const [otherFrom, otherTo] of spans.slice(index + 1)) {
          const [first, last] = [Math.max(from, otherFrom), Math.min(to, otherTo)];
          if (first > last || overlapping.kind === 'all') continue;
          assert.ok(overlapping.kind === 'some');
          for (const moment of [first, Math.floor((first + last) / 2), last])
            assert.ok(overlapping.buckets.has(Math.floor(moment / overlapping.widthMs)));
        }
    }),
  );
});

test('part statistics with an overlap that was not assumed are not covered', () => {
  const before = findOverlappingMoments([[0, 1000, 10, 1000, 2000, 10]]);
  assert.equal(coversOverlaps(before, [[0, 1000, 10, 999, 2000, 10]]), false);
  assert.equal(coversOverlaps({ kind: 'none' }, [[0, 1000, 10, 1000, 2000, 10]]), false);
  assert.equal(coversOverlaps(before, []), true);
  assert.equal(coversOverlaps({ kind: 'all' }, [[0, 1000, 10, 999, 2000, 10]]), true);
});
