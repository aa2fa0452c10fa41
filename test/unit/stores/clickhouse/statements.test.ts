import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Dimension, TextKey } from '../../../../src/domain/questions/contract.ts';
import { Problem } from '../../../../src/errors.ts';
import { assetPath } from '../../../../src/platform/assets.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { binEdges, binsOf, roundBins } from '../../../../src/stores/clickhouse/counts/bins.ts';
import { collectCodes, joinWords } from '../../../../src/stores/clickhouse/counts/codes.ts';
import { dimensionWords } from '../../../../src/stores/clickhouse/counts/dimension.ts';
import { coversOverlaps, findOverlappingMoments } from '../../../../src/stores/clickhouse/counts/overlapping-parts.ts';
import { collectSummary } from '../../../../src/stores/clickhouse/counts/summary.ts';
import { collectTexts, textScan } from '../../../../src/stores/clickhouse/counts/texts.ts';
import { decodeCursor, encodeCursor } from '../../../../src/stores/clickhouse/read/pages.ts';
import { annotationCodes, conditionsOf } from '../../../../src/stores/clickhouse/read/selection.ts';
import { schemaFiles, schemaStatement } from '../../../../src/stores/clickhouse/schema/migrate.ts';
import {
  sqlDouble,
  sqlDoubleArray,
  sqlInteger,
  sqlMoment,
  sqlString,
  sqlUuid,
} from '../../../../src/stores/clickhouse/sql-literals.ts';

test('a string literal in SQL ends only at its own quote', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(`'`, '\\', '"', '\0', '\n', 'a', '四', ';', '-') }), (value) => {
      const literal = sqlString(value);
      const inner = literal.slice(1, -1).replace(/\\(?:['\\]|0)/g, '');
      assert.ok(
        literal.startsWith(`'`) &&
          literal.endsWith(`'`) &&
          !inner.includes(`'`) &&
          !inner.includes('\\') &&
          !inner.includes('\0'),
        literal,
      );
    }),
  );
});

test('SQL literals refuse malformed ids, fractions as integers, and numbers that are not finite', () => {
  const id = newId();
  assert.equal(sqlUuid(id), `toUUID('${id}')`);
  for (const wrong of ['', `${id}'`, `${id}\n`, id.slice(1), `x${id.slice(1)}`])
    assert.throws(
      () => sqlUuid(wrong),
      (error: unknown) => error instanceof Problem && error.code === 'NOT_FOUND',
    );
  for (const wrong of [1.5, Number.NaN, Infinity, 2 ** 53]) assert.throws(() => sqlInteger(wrong), RangeError);
  for (const wrong of [Number.NaN, -Infinity]) {
    assert.throws(() => sqlDouble(wrong), RangeError);
    assert.throws(() => sqlDoubleArray([1, wrong]), RangeError);
  }
  assert.equal(
    sqlDoubleArray([0, -5, 0.1, 1e21, -1e-7, 2 ** 53 - 1]),
    '[0.0, -5.0, 0.1, 1e+21, -1e-7, 9007199254740991.0]',
  );
  assert.throws(() => sqlMoment(new Date(Number.NaN)), RangeError);
});

test('a cursor decodes to the key that it encodes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), fc.uuid(), (submittedAtMs, responseId) =>
      assert.deepEqual(decodeCursor(surveyId, encodeCursor(surveyId, { submittedAtMs, responseId })), {
        submittedAtMs,
        responseId,
      }),
    ),
  );
});

test('a cursor of another survey is refused', () => {
  const cursor = encodeCursor(newId(), { submittedAtMs: 0, responseId: newId() });
  assert.throws(
    () => decodeCursor(newId(), cursor),
    (error: unknown) => error instanceof Problem && error.code === 'VALIDATION_ERROR',
  );
});

test('a cursor of a former version, without a survey tag, is still decoded', () => {
  const key = { submittedAtMs: 1_790_000_000_000, responseId: newId() };
  assert.deepEqual(
    decodeCursor(surveyId, Buffer.from(`${key.submittedAtMs}.${key.responseId}`).toString('base64url')),
    key,
  );
});

test('arbitrary texts are refused as cursors with a validation error', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), (cursor) =>
      assert.throws(
        () => decodeCursor(surveyId, cursor),
        (error: unknown) => error instanceof Problem && error.code === 'VALIDATION_ERROR',
      ),
    ),
  );
});

test('keys beyond the maximum are counted for words only', () => {
  const statementOf = (by: TextKey) =>
    textScan({ slot: 0, presence: 0, by }, (slot) => `c${slot}`, 'any').statement('responses WHERE true');
  for (const by of ['value', 'emailDomain', 'hour', 'mediaType'] as const)
    assert.doesNotMatch(statementOf(by), /OVER/, by);
  assert.match(statementOf('words'), /OVER/);
  assert.deepEqual(
    collectTexts([
      [0, 0, 'b', [2]],
      [0, 0, 'a', [2]],
    ]),
    {
      kind: 'text',
      counts: [
        { key: 'a', count: 2 },
        { key: 'b', count: 2 },
      ],
    },
  );
  assert.deepEqual(collectTexts([[0, 0, 'b', [2, 7, 4]]]), {
    kind: 'text',
    counts: [{ key: 'b', count: 2 }],
    others: { keys: 3, count: 5 },
  });
});

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

test('the summary orders days and subtracts superseded versions', () => {
  const head = collectSummary([
    [20_001, 1, '', [2, 500, 1, 1_728_100_000_000]],
    [20_000, 0, '', [1, 0, 0, 1_728_040_000_000]],
    [20_000, 1, '', [3, 700, 2, 1_728_050_000_000]],
    [20_000, 0, '', [-1, -0, -0, -1_728_040_000_000]],
    [20_001, 0, '', [1, 900, 1, 1_728_090_000_000]],
    [20_001, 2, '', [1, 900, 1, 1_728_090_000_000]],
    [20_001, 3, '', [2, 900, 1, 1_728_090_000_000]],
  ]);
  assert.deepEqual(head, {
    total: 9,
    outcomes: { PARTIAL: 1, COMPLETED: 5, SCREENED_OUT: 1, OVER_QUOTA: 2 },
    durationAverageMs: 400,
    durationMedianSeconds: null,
    lastSubmittedAt: new Date(1_728_100_000_000),
    byDay: [
      { date: '2024-10-04', count: 3 },
      { date: '2024-10-05', count: 6 },
    ],
  });
});

test('the summary leaves out a day whose only response was superseded', () => {
  const head = collectSummary([
    [20_000, 1, '', [1, 0, 0, 5]],
    [20_000, 1, '', [-1, -0, -0, -5]],
  ]);
  assert.deepEqual(head, {
    total: 0,
    outcomes: { PARTIAL: 0, COMPLETED: 0, SCREENED_OUT: 0, OVER_QUOTA: 0 },
    durationAverageMs: null,
    durationMedianSeconds: null,
    lastSubmittedAt: null,
    byDay: [],
  });
});

test('options have the same counts from bits and from the codes of their word', () => {
  const words = new Map([
    [0b1, 2],
    [0b11, 3],
    [0b1000_0000_0000_0000, 1],
  ]);
  const byCode = collectCodes(
    [{ slot: 4, isBits: false }],
    [...words].map(([code, amount]) => [0, code, '', [amount]]),
  );
  const byBit = collectCodes(
    [{ slot: 4, isBits: true }],
    [
      [0, 0, '', [6]],
      [0, 1, '', [5]],
      [0, 2, '', [3]],
      [0, 16, '', [1]],
    ],
  );
  assert.deepEqual(joinWords([byCode.get(4), undefined]), joinWords([byBit.get(4), undefined]));
  assert.equal(byCode.get(4)?.any, byBit.get(4)?.any);
});

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

test('every placeholder of the schema files is replaced, for one server and for a cluster', async () => {
  const names = { database: 'd', table: (table: string) => `d.${table}` };
  for (const placement of [{}, { cluster: 'c' }]) {
    const files = await schemaFiles(placement);
    assert.deepEqual(files.includes('001_responses.cluster.sql'), 'cluster' in placement);
    for (const file of files)
      assert.doesNotMatch(
        schemaStatement(await readFile(assetPath(`src/stores/clickhouse/schema/${file}`), 'utf8'), names, placement),
        /\{\{/,
      );
  }
  assert.throws(() => schemaStatement('{{unknown}}', names, {}), /unknown/);
});

const surveyId = '0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d10';
const edition = '0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d11';
const questionId = '0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d12';
const category = (code: number, value = `v${code}`) => ({ code, value, text: value });
const columnOf = (slot: number): string => `c${slot}`;
const found = (categories: Dimension['categories'], of: string | null): Dimension => ({
  categories,
  source: { kind: 'annotation', edition, questionId: of },
});
const conditionOf = (dimension: Dimension, code: number): string => {
  const { key, full: condition } = conditionsOf(
    { surveyId, conditions: [{ dimension, code }] },
    columnOf,
    'd.findings',
  );
  assert.equal(key, `survey_id = toUUID('${surveyId}')`);
  return condition.slice(`${key} AND `.length);
};

test('conditions on answers read code columns only', () => {
  const categories = [category(1), category(2), category(17)];
  assert.equal(conditionOf({ categories, source: { kind: 'code', slot: 3 } }, 2), 'c3 = 2');
  assert.equal(conditionOf({ categories, source: { kind: 'bits', slots: [3, 4] } }, 17), 'bitTest(c4, 0)');
  assert.equal(conditionOf({ categories, source: { kind: 'bits', slots: [3] } }, 17), '0');
  assert.equal(conditionOf({ categories, source: { kind: 'first', items: [{ slot: 5, code: 2 }] } }, 2), 'c5 = 1');
  const words = (source: Dimension['source']) => {
    const { words, codesOf } = dimensionWords({ categories, source }, columnOf, 'found');
    return [words, codesOf(['a', 'b'].slice(0, words.length))];
  };
  const only = "arrayIntersect([toUInt32(a)], CAST([1, 2, 17], 'Array(UInt32)'))";
  assert.deepEqual(words({ kind: 'code', slot: 3 }), [['c3'], only]);
  assert.deepEqual(words({ kind: 'first', items: [{ slot: 5, code: 2 }] }), [
    ['toUInt16(multiIf(c5 = 1, 2, 0))'],
    only,
  ]);
  assert.deepEqual(words({ kind: 'bits', slots: [3, 4] }), [
    ['bitAnd(c3, toUInt16(3))', 'bitAnd(c4, toUInt16(1))'],
    'arrayConcat(arrayMap(bit -> toUInt32(bit + 1), bitPositionsToArray(a)), arrayMap(bit -> toUInt32(bit + 17), bitPositionsToArray(b)))',
  ]);
});

test('a condition on an annotation selects responses of its edition, with the value quoted', () => {
  const place = `response_id GLOBAL IN (SELECT response_id FROM d.findings WHERE survey_id = toUUID('${surveyId}') AND edition = toUUID('${edition}') AND value IN `;
  assert.equal(conditionOf(found([category(1), category(2, "it's \\")], null), 2), `${place}('it\\'s \\\\'))`);
  assert.equal(
    conditionOf(found([category(1)], questionId), 1),
    `${place}('v1') AND question_id = toUUID('${questionId}'))`,
  );
  assert.equal(conditionOf(found([{ ...category(1), storedAs: ['a', "b'"] }], null), 1), `${place}('a', 'b\\''))`);
  assert.equal(conditionOf(found([category(1)], null), 9), '0');
});

test('annotations in a crosstab are read as codes by one subquery', () => {
  const { categories, source } = found([category(1), category(16), category(18, "it's")], questionId);
  const { words, codesOf } = dimensionWords({ categories, source }, columnOf, 'found');
  assert.deepEqual([words, codesOf(['a'])], [['found'], 'a']);
  assert.ok(source.kind === 'annotation');
  const codes = annotationCodes(source, categories, { table: 'd.findings', surveyId });
  assert.equal(codes.match(/FROM d\.findings/g)?.length, 1);
  assert.ok(
    codes.includes("transform(value, ['v1', 'v16', 'it\\'s'], CAST([1, 16, 18], 'Array(UInt32)'), toUInt32(0))"),
  );
  assert.ok(codes.includes(`AND question_id = toUUID('${questionId}')`));
  const merged = annotationCodes(source, [{ ...category(1), storedAs: ['a', 'b'] }, category(2)], {
    table: 'd.findings',
    surveyId,
  });
  assert.ok(merged.includes("transform(value, ['a', 'b', 'v2'], CAST([1, 1, 2], 'Array(UInt32)'), toUInt32(0))"));
});
