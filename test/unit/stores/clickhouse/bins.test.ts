import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { binEdges, binsOf, roundBins } from '../../../../src/stores/clickhouse/counts/bins.ts';

test('bins begin at the least value, have increasing edges, and are at most twenty', () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      (one, other) => {
        const [min, max] = [Math.min(one, other), Math.max(one, other)];
        const edges = binEdges(min, max);
        assert.ok(edges.length >= 1 && edges.length <= 20 && edges[0] === min);
        for (const [index, edge] of edges.entries())
          assert.ok(Number.isFinite(edge) && (index === 0 || (edge > (edges[index - 1] ?? edge) && edge < max)));
      },
    ),
  );
});

test('bins between bounds have increasing edges, however close the bounds are', () => {
  const narrow = [
    [0, 1e-21],
    [-1e-21, 1e-21],
    [1e-20, 2e-20],
    [0, 1e-19],
    [5e-324, 1e-323],
    [1, 1 + Number.EPSILON],
  ].map(([min = 0, max = 0]) => ({ min, max }));
  for (const bounds of [...narrow, { min: 3, max: 3 }, { min: -1, max: 1 }]) {
    const { edges, max } = binsOf({ bounds }, null);
    assert.ok(edges.length >= 1 && edges[0] === bounds.min && max === bounds.max, `${bounds.min}–${bounds.max}`);
    for (const [index, edge] of edges.entries())
      assert.ok(index === 0 || (edge > (edges[index - 1] ?? edge) && edge < max), `${edges}`);
  }
  assert.equal(binsOf({ bounds: { min: 0, max: 1e-21 } }, null).edges.length, 20);
});

test('bins over answers have a round width and edges that read as they are', () => {
  const shown = (min: number, max: number) => {
    const bins = roundBins(min, max);
    return [bins.edges.length, bins.edges[0], bins.edges[1], bins.max];
  };
  assert.deepEqual(shown(0.3, 0.9), [12, 0.3, 0.35, 0.9]);
  assert.deepEqual(shown(0, 100), [20, 0, 5, 100]);
  assert.deepEqual(shown(0, 48), [20, 0, 2.5, 50]);
  assert.deepEqual(shown(-3.3, 36.6), [17, -5, -2.5, 37.5]);
  assert.deepEqual(shown(1e15, 1e15 + 4), [4, 1e15, 1e15 + 1, 1e15 + 4]);
  assert.deepEqual(shown(1e-21, 3e-21), [20, 1e-21, 1.1e-21, 3e-21]);
  assert.deepEqual(roundBins(7, 7), { edges: [7], max: 7 });
});

test('bins over any answers are at most twenty, enclose them, and have increasing decimal edges of one width', () => {
  const number = fc.oneof(
    fc.double({ min: -9e15, max: 9e15, noNaN: true }),
    fc.double({ min: -1, max: 1, noNaN: true }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer({ min: -1000, max: 1000 }).map((value) => value / 10),
  );
  fc.assert(
    fc.property(number, number, (one, other) => {
      fc.pre(one !== other);
      const [min, max] = [Math.min(one, other), Math.max(one, other)];
      const { edges, max: end } = roundBins(min, max);
      const all = [...edges, end];
      assert.ok(edges.length >= 1 && edges.length <= 20);
      assert.ok((all[0] ?? max) <= min && (all[1] ?? min) > min && end >= max && (edges.at(-1) ?? max) < max);
      assert.ok(all.every((edge, index) => index === 0 || edge > (all[index - 1] ?? edge)));
      if (Math.max(Math.abs(min), Math.abs(max)) < 1e14 && max - min > 1e-12)
        assert.ok(
          all.every((edge) => Math.abs(edge) > 1e-14 * (max - min) || edge === 0),
          String(all),
        );
    }),
    { numRuns: 5000 },
  );
});

test('bins of a round range have round edges', () => {
  assert.deepEqual(binEdges(0, 100).slice(0, 3), [0, 5, 10]);
  assert.deepEqual(
    binEdges(1, 21),
    Array.from({ length: 20 }, (_, index) => 1 + index),
  );
});
