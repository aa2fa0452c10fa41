import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  AnswerRow,
  CountPlan,
  CountRequest,
  CountResult,
  TextKey,
} from '../../../../src/domain/questions/contract.ts';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { createTotalsStore } from '../../../../src/stores/clickhouse/counts/totals.ts';
import {
  givenStart,
  type ResponseDatabase,
  responseLine,
  useResponseDatabase,
} from '../../../support/response-database.ts';
import { countRows } from '../../../unit/domain/questions/count-rows.ts';

let database: ResponseDatabase;
useResponseDatabase((opened) => {
  database = opened;
});

const range = (length: number): number[] => Array.from({ length }, (_, index) => index);

/** Thirty choices, ten grids of five rows, ten of several answers in two words each, twelve numbers, twenty texts. */
const texts: readonly TextKey[] = ['value', 'emailDomain', 'hour', 'mediaType', 'words'];
const plans: readonly CountPlan[] = [
  ...range(30).map((slot): CountPlan => ({ base: [slot], requests: [{ kind: 'codes', slot }] })),
  ...range(10).map(
    (grid): CountPlan => ({
      base: range(5).map((row) => 30 + grid * 5 + row),
      requests: range(5).map((row) => ({ kind: 'codes', slot: 30 + grid * 5 + row })),
    }),
  ),
  ...range(10).map(
    (n): CountPlan => ({
      base: [80 + 2 * n, 81 + 2 * n],
      requests: [{ kind: 'bits', slots: [80 + 2 * n, 81 + 2 * n] }],
    }),
  ),
  ...range(12).map(
    (n): CountPlan => ({
      base: [100 + n],
      requests: [
        {
          kind: 'number',
          slot: n,
          presence: 100 + n,
          ...(n % 3 === 1 && { scale: { min: 0, max: 100, lastPoint: 100 } }),
          ...(n % 3 === 2 && { isWhole: true }),
        },
      ],
    }),
  ),
  ...range(20).map(
    (n): CountPlan => ({
      base: [112 + n],
      requests: [{ kind: 'text', slot: n, presence: 112 + n, by: texts[n % 5] ?? 'value' }],
    }),
  ),
];

/** Answers that differ from each other in every way and need no dice. */
function answersOf(seed: number): AnswerRow {
  const dice = (place: number, sides: number): number =>
    ((seed * 7919 + place * 104_729 + seed * place * 31) >>> 0) % sides;
  return {
    codes: range(132).map((slot) =>
      dice(slot, 5) === 0
        ? 0
        : slot >= 80 && slot < 100
          ? dice(slot + 7, 65_536)
          : 1 + dice(slot + 3, slot % 11 === 0 ? 65_535 : 9),
    ),
    numbers: range(12).map((n) => (n % 3 === 2 ? dice(n, 60) : dice(n, 1001) / 10)),
    texts: range(20).map(
      (n) =>
        [
          `2026-01-${10 + dice(n, 9)}`,
          `ann${dice(n, 99)}@Example${dice(n, 4)}.org`,
          `${10 + dice(n, 9)}:30`,
          `id image/${dice(n, 3) === 0 ? 'png' : 'gif'}`,
          `word${dice(n, 90)} again word${dice(n + 1, 90)}`,
        ][n % 5] ?? '',
    ),
  };
}

async function fill(): Promise<{ surveyId: string; rows: AnswerRow[] }> {
  const surveyId = newId();
  const rows = range(300).map(answersOf);
  const ids = rows.map(() => newId());
  const line = (row: AnswerRow, index: number, version: number) =>
    responseLine({ surveyId, responseId: ids[index] ?? '', version, submittedAtMs: givenStart + index * 1000, ...row });
  await database.store(
    rows.map((row, index) => line(row, index, 1)),
    { codeColumns: 132 },
  );
  const merged = range(30).map((n) => answersOf(1000 + n));
  await database.store(
    [
      ...merged.map((row, n) => line(row, n * 7, 2)),
      ...range(20).map((n) => encodeTombstone(surveyId, ids[n * 11 + 1] ?? '', givenStart + (n * 11 + 1) * 1000)),
    ],
    { codeColumns: 132 },
  );
  const deleted = new Set(range(20).map((n) => n * 11 + 1));
  return {
    surveyId,
    rows: rows
      .map((row, index) => (index % 7 === 0 && index / 7 < 30 ? (merged[index / 7] ?? row) : row))
      .filter((_, index) => !deleted.has(index)),
  };
}

/**
 * A store that takes every survey for small, or none, how often its statements read the table, and how often with
 * versions merged while reading.
 */
function watched(isSmall: boolean) {
  let [reads, merged] = [0, 0];
  const select: ClickHouse['select'] = (sql, options) => {
    reads += sql.split(database.clickhouse.table('responses')).length - 1;
    merged += sql.split(' FINAL ').length - 1;
    return database.clickhouse.select(sql, options);
  };
  return {
    totals: createTotalsStore({
      clickhouse: { ...database.clickhouse, select },
      sizes: { isSmall: async () => isSmall, isKnownSmall: () => isSmall, note: () => isSmall },
    }),
    readsOf: () => reads,
    mergedOf: () => merged,
  };
}

const asked = plans.map((plan, index) => ({ questionId: `q${index}`, plan }));
const byKey = (counts: readonly { key: string; count: number }[]) =>
  [...counts].sort((one, other) => other.count - one.count || (one.key < other.key ? -1 : 1));

/** What both count in the same words; of numbers what the plain count knows. */
function comparable(request: CountRequest, result: CountResult | undefined): unknown {
  if (result?.kind === 'codes') return [...result.counts].sort(([one], [other]) => one - other);
  if (result?.kind === 'text')
    return byKey(result.counts).slice(0, request.kind === 'text' && request.by === 'words' ? 50 : undefined);
  if (result?.kind !== 'number') return result;
  const { count, average, min, max } = result.moments;
  return { count, min, max, average: average?.toFixed(9) };
}

test('the plans for few and for many responses count a survey of all question types alike, as plain counting does', async () => {
  const { surveyId, rows } = await fill();
  const [few, many] = await Promise.all(
    [true, false].map((isSmall) => watched(isSmall).totals.countSurvey({ surveyId, plans: asked })),
  );
  for (const [index, plan] of plans.entries()) {
    const plain = countRows(plan, rows);
    for (const counted of [few, many]) {
      const question = counted?.perQuestion.get(`q${index}`);
      assert.equal(counted?.total, rows.length);
      assert.equal(question?.base, plain.base, `base of ${index}`);
      assert.deepEqual(
        plan.requests.map((request, n) => comparable(request, question?.results[n])),
        plan.requests.map((request, n) => comparable(request, plain.results[n])),
        `question ${index}`,
      );
    }
    const numbers = [few, many].map((counted) =>
      counted?.perQuestion
        .get(`q${index}`)
        ?.results.flatMap((result) =>
          result.kind === 'number'
            ? [{ ...result.moments, average: 0, standardDeviation: result.moments.standardDeviation?.toFixed(9) }]
            : [],
        ),
    );
    assert.deepEqual(numbers[0], numbers[1], `numbers of ${index}`);
  }
});

test('many questions of few responses are counted in a few passes over the table', async () => {
  const { surveyId } = await fill();
  const { totals, readsOf } = watched(true);
  await totals.countSurvey({ surveyId, plans: asked });
  assert.ok(readsOf() <= 20, `${readsOf()} reads`);
});

test('texts of many questions are read in a few passes over the table, however many responses there are', async () => {
  const { surveyId } = await fill();
  const { totals, readsOf } = watched(false);
  await totals.countSurvey({ surveyId, plans: asked.slice(-20) });
  assert.ok(readsOf() <= 16, `${readsOf()} reads`);
});

/** How often the table is read for these plans: for all responses, and for some; when it is known where bins lie. */
async function readsFor(isSmall: boolean, { surveyId, asked: plansAsked }: { surveyId: string; asked: typeof asked }) {
  const { totals, readsOf, mergedOf } = watched(isSmall);
  const ask = async (isComplete?: boolean) => {
    await totals.countSurvey({ surveyId, plans: plansAsked, isComplete });
    const before = [readsOf(), mergedOf()] as const;
    const counted = await totals.countSurvey({ surveyId, plans: plansAsked, isComplete });
    return { reads: readsOf() - before[0], merged: mergedOf() - before[1], counted };
  };
  return { all: await ask(), some: await ask(true) };
}

test('the range of the whole survey is read only for numbers whose bins need it, without merging all versions', async () => {
  const { surveyId } = await fill();
  const [scales, others] = [true, false].map((isScale) =>
    asked.filter(
      ({
        plan: {
          requests: [request],
        },
      }) => request?.kind === 'number' && (request.scale !== undefined) === isScale,
    ),
  );
  for (const isSmall of [true, false]) {
    const ofScales = await readsFor(isSmall, { surveyId, asked: scales ?? [] });
    assert.deepEqual([ofScales.some.reads, ofScales.some.merged], [ofScales.all.reads, ofScales.all.merged], 'scales');
    const ofOthers = await readsFor(isSmall, { surveyId, asked: others ?? [] });
    assert.ok(ofOthers.some.reads > ofOthers.all.reads && ofOthers.all.merged > 0);
    assert.equal(ofOthers.some.merged, ofOthers.all.merged, 'numbers');
  }
});

test('corrected or deleted extreme answers do not affect bins, whatever is selected', async () => {
  const [surveyId, corrected, deleted] = [newId(), newId(), newId()];
  const line = (numbers: number[], given: { responseId?: string; version?: number; isComplete?: boolean } = {}) =>
    responseLine({ surveyId, codes: [1, 1, 1, 1], numbers, ...given });
  await database.store([
    line([10, 3, 2, 5]),
    line([90, 7, 2.5, 5], { isComplete: false }),
    line([1e6, 5000, 0.25, 5], { responseId: corrected }),
    line([-1e6, -5000, 1, 5], { responseId: deleted }),
  ]);
  await database.store([
    line([50, 5, 2, 5], { responseId: corrected, version: 2 }),
    encodeTombstone(surveyId, deleted, givenStart),
  ]);
  const requests: CountRequest[] = [
    { kind: 'number', slot: 0, presence: 0 },
    { kind: 'number', slot: 1, presence: 1, isWhole: true },
    { kind: 'number', slot: 2, presence: 2, isWhole: true, bounds: { min: 0, max: 4 } },
    { kind: 'number', slot: 3, presence: 900 },
  ];
  for (const isSmall of [true, false]) {
    const edgesOf = async (isComplete?: boolean) => {
      const { perQuestion } = await watched(isSmall).totals.countSurvey({
        surveyId,
        plans: [{ questionId: 'q', plan: { base: [0], requests } }],
        isComplete,
      });
      return (
        perQuestion
          .get('q')
          ?.results.map((result) =>
            result.kind === 'number' ? result.moments.bins.map(({ low, high }) => [low, high]) : assert.fail(),
          ) ?? []
      );
    };
    const some = await edgesOf(true);
    assert.deepEqual(
      [some[0]?.[0], some[0]?.at(-1), some[1], some[2]?.length, some[3]],
      [[10, 15], [85, 90], [3, 4, 5, 6, 7].map((whole) => [whole, whole]), 20, []],
    );
    assert.deepEqual(some, await edgesOf());
  }
});
