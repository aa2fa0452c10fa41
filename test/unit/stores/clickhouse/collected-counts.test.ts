import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TextKey } from '../../../../src/domain/questions/contract.ts';
import { collectCodes, joinWords } from '../../../../src/stores/clickhouse/counts/codes.ts';
import { collectSummary } from '../../../../src/stores/clickhouse/counts/summary.ts';
import { collectTexts, textScan } from '../../../../src/stores/clickhouse/counts/texts.ts';

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
