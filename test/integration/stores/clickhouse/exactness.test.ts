import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AskedSurvey } from '../../../../src/domain/analytics/asked.ts';
import { outcomeDimension } from '../../../../src/domain/analytics/outcome-variable.ts';
import { outcomes } from '../../../../src/domain/outcome.ts';
import { type CountPlan, type Dimension, skippedCode } from '../../../../src/domain/questions/contract.ts';
import { createCrosstabStore } from '../../../../src/stores/clickhouse/counts/crosstab.ts';
import { createTotalsStore } from '../../../../src/stores/clickhouse/counts/totals.ts';
import type { Selection } from '../../../../src/stores/clickhouse/read/selection.ts';
import { columns, createDice, createModel, type Modelled, plan, rows } from '../../../support/modelled-responses.ts';
import { givenStart, type ResponseDatabase, useResponseDatabase } from '../../../support/response-database.ts';

let database: ResponseDatabase;

useResponseDatabase((opened) => {
  database = opened;
});

/** From this version on partial responses mark all that they were not asked. */
const markedFrom = 3;
const absences = {
  q: [
    { from: 0, to: 2 },
    { from: 3, to: 4 },
  ],
  both: [{ from: 0, to: 3 }],
  row: [{ from: 0, to: 2 }, { from: 4 }],
};
/**
 * The two questions in their order, both added later; the second one has a row that can be hidden alone, and was
 * removed.
 */
const questionsAsked: AskedSurvey['questions'] = [
  { questionId: 'q', slots: [0], notAsked: [{ slot: 2, mask: 1 }], absentIn: absences.q, rows: [] },
  {
    questionId: 'both',
    slots: [1],
    notAsked: [{ slot: 2, mask: 2 }],
    absentIn: absences.both,
    rows: [
      {
        id: 'row',
        value: 'row',
        slots: [1],
        notAsked: [
          { slot: 2, mask: 2 },
          { slot: 2, mask: 4 },
        ],
        absentIn: absences.row,
      },
    ],
  },
];

const asked: AskedSurvey = { questions: questionsAsked, markedFrom };

/** Whether a question, or the row of the second one, was not asked, as the contract says it. */
function wasNotAsked(
  { surveyVersion, outcome, codes: [first, second, bits] }: Modelled,
  part: 'q' | 'both' | 'row',
): boolean {
  if (part === 'q' ? first !== 0 : second !== 0) return false;
  const isMarked =
    (bits & { q: 0b001, both: 0b010, row: 0b110 }[part]) !== 0 ||
    surveyVersion < { q: 2, both: 3, row: 2 }[part] ||
    { q: surveyVersion === 3, both: false, row: surveyVersion >= 4 }[part];
  const lastAnswered = second !== 0 ? 2 : first !== 0 ? 1 : 0;
  return isMarked || (outcome === 'PARTIAL' && surveyVersion < markedFrom && (part === 'q' ? 1 : 2) > lastAnswered);
}

const both: CountPlan = { base: [0, 1], requests: [] };
const withSkippedRows: Dimension = {
  ...rows,
  categories: [...rows.categories, { code: skippedCode, value: '', text: '' }],
  skipped: { slots: [0], notAsked: [{ slot: 2, mask: 1 }], absentIn: absences.q, later: [0, 1], markedFrom },
};
function tally<Key>(keys: readonly Key[]): [Key, number][] {
  const counts = new Map<Key, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => (one < other ? -1 : 1));
}

const sorted = <Key>(counts: ReadonlyMap<Key, number>): [Key, number][] =>
  [...counts].sort(([one], [other]) => (one < other ? -1 : 1));
const bitsOf = (word: number): number[] => [1, 2, 3].filter((code) => (word >> (code - 1)) & 1);

type Selected = Pick<Selection, 'isComplete' | 'startDate' | 'endDate'>;

async function assertAgrees(surveyId: string, live: readonly Modelled[], selection: Selected = {}): Promise<void> {
  const { isComplete, startDate, endDate } = selection;
  const selected = live.filter(
    ({ outcome, submittedAtMs }) =>
      (isComplete === undefined || (outcome !== 'PARTIAL') === isComplete) &&
      submittedAtMs >= (startDate?.getTime() ?? 0) &&
      submittedAtMs < (endDate?.getTime() ?? Number.POSITIVE_INFINITY),
  );
  const wanted = selected.filter(({ outcome }) => outcome === 'PARTIAL' || outcome === 'COMPLETED');
  const answered = wanted.filter(({ codes: [code] }) => code !== 0);
  const counted = await createTotalsStore(database).countSurvey({
    surveyId,
    ...selection,
    asked,
    plans: [
      { questionId: 'q', plan },
      { questionId: 'both', plan: both },
    ],
  });
  const timed = wanted.filter(({ outcome, durationMs }) => outcome === 'COMPLETED' && durationMs >= 0);
  assert.deepEqual(
    [counted.total, counted.outcomes, counted.counted, counted.lastSubmittedAt?.getTime() ?? 0, counted.byDay],
    [
      selected.length,
      Object.fromEntries(
        outcomes.map((outcome) => [outcome, selected.filter((response) => response.outcome === outcome).length]),
      ),
      wanted.length,
      Math.max(0, ...selected.map(({ submittedAtMs }) => submittedAtMs)),
      tally(selected.map(({ submittedAtMs }) => new Date(submittedAtMs).toISOString().slice(0, 10))).map(
        ([date, count]) => ({ date, count }),
      ),
    ],
  );
  const unasked = (part: 'q' | 'both' | 'row'): number =>
    wanted.filter((response) => wasNotAsked(response, part)).length;
  assert.deepEqual(
    [...counted.notAsked],
    [
      ['q', { question: unasked('q'), byRow: {} }],
      ['both', { question: unasked('both'), byRow: { row: unasked('row') } }],
    ],
  );
  const duration = timed.reduce((sum, { durationMs }) => sum + durationMs, 0) / timed.length;
  assert.ok(
    timed.length === 0
      ? counted.durationAverageMs === null
      : Math.abs((counted.durationAverageMs ?? 0) - duration) < 1e-6,
  );
  const {
    base,
    results: [codes, bits, number, text],
  } = counted.perQuestion.get('q') ?? assert.fail();
  assert.equal(base, answered.length);
  assert.equal(
    counted.perQuestion.get('both')?.base,
    wanted.filter(({ codes: [first, second] }) => first !== 0 || second !== 0).length,
  );
  assert.deepEqual(codes?.kind === 'codes' && sorted(codes.counts), tally(answered.map(({ codes: [code] }) => code)));
  assert.deepEqual(
    bits?.kind === 'bits' && bits.counts.slice(0, 3),
    [1, 2, 3].map((code) => wanted.filter(({ codes: [, word] }) => bitsOf(word).includes(code)).length),
  );
  const values = answered.map(({ numbers: [value] }) => value).sort((one, other) => one - other);
  assert.ok(number?.kind === 'number');
  assert.deepEqual(
    [
      number.moments.count,
      number.moments.min,
      number.moments.max,
      number.moments.bins.reduce((sum, bin) => sum + bin.count, 0),
    ],
    [values.length, values[0] ?? null, values.at(-1) ?? null, values.length],
  );
  assert.deepEqual(
    text?.kind === 'text' && text.counts.map(({ key, count }) => [key, count]).sort(),
    tally(answered.map(({ texts: [word] }) => word)),
  );
  await assertCrosstabAgrees(surveyId, { selected, wanted }, selection);
  assert.equal((await database.responses.list({ surveyId, limit: 1, ...selection })).total, selected.length);
}

async function assertCrosstabAgrees(
  surveyId: string,
  { selected, wanted }: { selected: readonly Modelled[]; wanted: readonly Modelled[] },
  selection: Selected,
): Promise<void> {
  const pairs = wanted.flatMap(({ codes: [code, word] }) =>
    code === 0 ? [] : bitsOf(word).map((bit) => `${code} ${bit}`),
  );
  const inBoth = wanted.filter(({ codes: [code, word] }) => code !== 0 && word !== 0);
  const table = await createCrosstabStore(database).countCrosstab({
    surveyId,
    rows,
    columns,
    ...selection,
    weight: { kind: 'number', slot: 0, presence: 0 },
  });
  const weighable = inBoth.filter(({ numbers: [value] }) => value > 0);
  assert.deepEqual(
    [table.total, table.weighted?.unweightable, table.weighted?.total.weight],
    [
      weighable.length,
      inBoth.length - weighable.length,
      weighable.reduce((sum, { numbers: [value] }) => sum + value, 0),
    ],
  );
  const status = await createCrosstabStore(database).countCrosstab({
    surveyId,
    rows: withSkippedRows,
    columns: outcomeDimension,
    ...selection,
  });
  const skippedOrCode = (response: Modelled): number =>
    response.codes[0] !== 0 ? response.codes[0] : wasNotAsked(response, 'q') ? 0 : skippedCode;
  assert.deepEqual(
    status.cells.map(({ row, column, count }) => [`${row} ${column}`, count]).sort(),
    tally(
      selected
        .filter((response) => skippedOrCode(response) !== 0)
        .map((response) => `${skippedOrCode(response)} ${outcomes.indexOf(response.outcome) + 1}`),
    ),
  );
  const plain = await createCrosstabStore(database).countCrosstab({ surveyId, rows, columns, ...selection });
  assert.deepEqual(plain.cells.map(({ row, column, count }) => [`${row} ${column}`, count]).sort(), tally(pairs));
  assert.deepEqual(
    [plain.total, sorted(plain.rowTotals)],
    [inBoth.length, tally(inBoth.map(({ codes: [code] }) => code))],
  );
}

const hourMs = 3_600_000;

/**
 * How far apart the responses of a survey lie decides how versions meet: at single moments, in seconds, or everywhere.
 */
for (const [spread, spanMs] of [
  ['a second', 1000],
  ['an hour', 3_600_000],
  ['three months', 90 * 86_400_000],
] as const)
  test(`counts agree with a model of merges, deletions and redeliveries over ${spread}, before and after they are merged`, async () => {
    const model = createModel(createDice(spanMs), spanMs);
    for (let round = 0; round < 3; round += 1) {
      for (let batch = 0; batch < 6; batch += 1) await database.store(model.batch());
      await assertAgrees(model.surveyId, model.live());
      await assertAgrees(model.surveyId, model.live(), { isComplete: round % 2 === 0 });
    }
    const middle = new Date(givenStart + Math.ceil(spanMs / 2 / hourMs) * hourMs);
    const assertDatesAgree = async () => {
      await assertAgrees(model.surveyId, model.live(), { startDate: middle });
      await assertAgrees(model.surveyId, model.live(), { endDate: middle, isComplete: true });
      await assertAgrees(model.surveyId, model.live(), {
        startDate: new Date(givenStart + spanMs / 8),
        endDate: new Date(givenStart + spanMs / 4),
      });
    };
    await assertDatesAgree();
    await database.clickhouse.command(`OPTIMIZE TABLE ${database.clickhouse.table('responses')} FINAL`);
    await assertAgrees(model.surveyId, model.live());
    await assertDatesAgree();
  });
