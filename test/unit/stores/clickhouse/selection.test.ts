import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dimension } from '../../../../src/domain/questions/contract.ts';
import { dimensionWords } from '../../../../src/stores/clickhouse/counts/dimension.ts';
import { annotationCodes, conditionsOf } from '../../../../src/stores/clickhouse/read/selection.ts';

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
