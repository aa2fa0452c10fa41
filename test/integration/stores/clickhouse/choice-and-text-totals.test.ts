import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CountPlan, TextKey } from '../../../../src/domain/questions/contract.ts';
import { wordsIn } from '../../../../src/domain/questions/words.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { createTotalsStore, type TotalsStore } from '../../../../src/stores/clickhouse/counts/totals.ts';
import { type ResponseDatabase, responseLine } from '../../../support/response-database.ts';
import { spelledWords } from '../../../support/spelled-words.ts';
import { moderns, useTotals } from '../../../support/use-totals.ts';

let database: ResponseDatabase;
let totals: TotalsStore;
const { given, count, first } = useTotals((opened) => {
  ({ database, totals } = opened);
});

async function keys(texts: readonly (string | null)[], by: TextKey) {
  const surveyId = await given(
    texts.map((text) => (text === null ? { codes: [0], texts: ['left over'] } : { codes: [1], texts: [text] })),
  );
  const result = await first(surveyId, 0, { kind: 'text', slot: 0, presence: 0, by });
  return result.kind === 'text' ? result.counts : assert.fail();
}

test('codes are counted by position, the highest one too, and the base leaves out responses without an answer', async () => {
  const surveyId = await given([{ codes: [1, 65_535] }, { codes: [2, 65_535] }, { codes: [1, 0] }, { codes: [] }]);
  const plans = [0, 1, 2].map((slot) => ({
    questionId: `q${slot}`,
    plan: { base: [slot], requests: [{ kind: 'codes', slot }] } satisfies CountPlan,
  }));
  const { perQuestion } = await totals.countSurvey({ surveyId, plans });
  assert.deepEqual(
    [...perQuestion.entries()],
    [
      [
        'q0',
        {
          base: 3,
          partBases: [],
          results: [
            {
              kind: 'codes',
              counts: new Map([
                [1, 2],
                [2, 1],
              ]),
            },
          ],
        },
      ],
      ['q1', { base: 2, partBases: [], results: [{ kind: 'codes', counts: new Map([[65_535, 2]]) }] }],
      ['q2', { base: 0, partBases: [], results: [{ kind: 'codes', counts: new Map() }] }],
    ],
  );
});

test('parts of a question have bases of their own, of one position or several', async () => {
  const surveyId = await given([
    { codes: [1, 0, 3] },
    { codes: [0, 2, 1] },
    { codes: [1, 1, 0] },
    { codes: [0, 0, 0] },
  ]);
  const parts = [[0, 1], [2], [1]];
  for (const isSmall of [true, false]) {
    const counted = await createTotalsStore({
      clickhouse: database.clickhouse,
      sizes: { isSmall: async () => isSmall, isKnownSmall: () => isSmall, note: () => isSmall },
    }).countSurvey({
      surveyId,
      plans: [
        { questionId: 'p', plan: { base: [2], requests: [{ kind: 'codes', slot: 2 }] } },
        { questionId: 'q', plan: { base: [0, 1, 2], parts, requests: [{ kind: 'bits', slots: [0, 1] }] } },
        { questionId: 'r', plan: { base: [0], requests: [{ kind: 'codes', slot: 0 }] } },
      ],
    });
    assert.deepEqual(
      ['p', 'q', 'r'].map((id) => [counted.perQuestion.get(id)?.base, counted.perQuestion.get(id)?.partBases]),
      [
        [2, []],
        [3, [3, 2, 2]],
        [2, []],
      ],
    );
  }
});

test('bits are counted by option over several words, and a respondent counts once in the base', async () => {
  const surveyId = await given([
    { codes: [0b1, 0b1] },
    { codes: [0b1000_0000_0000_0001, 0] },
    { codes: [0, 0b100] },
    { codes: [0, 0, 5] },
  ]);
  const { base, results } = await count(surveyId, { base: [0, 1], requests: [{ kind: 'bits', slots: [0, 1] }] });
  const expected = new Array<number>(32).fill(0);
  expected[0] = 2;
  expected[15] = 1;
  expected[16] = 1;
  expected[18] = 1;
  assert.equal(base, 3);
  assert.deepEqual(results, [{ kind: 'bits', counts: expected }]);
  const single = await count(surveyId, { base: [0], requests: [{ kind: 'bits', slots: [0] }] });
  assert.equal(single.base, 2, 'the base of a single word');
});

test('one position can be counted as codes and as bits at once', async () => {
  const surveyId = await given([{ codes: [3] }, { codes: [2] }]);
  const { results } = await count(surveyId, {
    base: [0],
    requests: [
      { kind: 'codes', slot: 0 },
      { kind: 'bits', slots: [0] },
    ],
  });
  const [codes, bits] = results;
  assert.deepEqual(codes, {
    kind: 'codes',
    counts: new Map([
      [2, 1],
      [3, 1],
    ]),
  });
  assert.deepEqual(bits?.kind === 'bits' ? bits.counts.slice(0, 3) : bits, [1, 2, 0]);
});

test('all positions are counted, however many, also those without a column', async () => {
  const slots = Array.from({ length: 140 }, (_, slot) => slot);
  const surveyId = await given(
    [{ codes: slots.map((slot) => 1 + (slot % 7)) }, { codes: slots.map((slot) => 1 + (slot % 7)) }],
    { codeColumns: 140 },
  );
  const asked = [...slots, 5000, 5001];
  const { base, results } = await count(surveyId, {
    base: asked,
    requests: asked.map((slot) => ({ kind: 'codes', slot })),
  });
  assert.equal(base, 2);
  assert.deepEqual(
    results,
    asked.map((slot) => ({ kind: 'codes', counts: slot < 140 ? new Map([[1 + (slot % 7), 2]]) : new Map() })),
  );
});

test('hidden options have counts over the whole survey beside those of the selection', async () => {
  const surveyId = await given([{ codes: [1, 2, 0b1] }, { codes: [2, 1, 0b10] }, { codes: [3, 2, 0b11] }]);
  const plan: CountPlan = {
    base: [0],
    requests: [
      { kind: 'codes', slot: 0, needsUnfiltered: true },
      { kind: 'codes', slot: 0 },
      { kind: 'bits', slots: [2], needsUnfiltered: true },
    ],
  };
  const [hidden, plain, bits] = (await count(surveyId, plan, { filters: [moderns] })).results;
  const codesOf = (counts: ReadonlyMap<number, number> | undefined) =>
    [...(counts ?? [])].sort(([one], [other]) => one - other);
  assert.ok(hidden?.kind === 'codes' && plain?.kind === 'codes' && bits?.kind === 'bits');
  assert.deepEqual(
    [codesOf(hidden.counts), codesOf(hidden.unfiltered), plain.unfiltered],
    [
      [
        [1, 1],
        [3, 1],
      ],
      [
        [1, 1],
        [2, 1],
        [3, 1],
      ],
      undefined,
    ],
  );
  assert.deepEqual(
    [bits.counts.slice(0, 2), bits.unfiltered?.slice(0, 2)],
    [
      [2, 1],
      [2, 2],
    ],
  );
  const [unnarrowed] = (await count(surveyId, plan)).results;
  assert.ok(unnarrowed?.kind === 'codes' && unnarrowed.unfiltered === undefined);
});

test('texts are counted by value, most frequent first', async () => {
  assert.deepEqual(await keys([`it's`, 'b"\\', 'a', `it's`, null, ''], 'value'), [
    { key: `it's`, count: 2 },
    { key: '', count: 1 },
    { key: 'a', count: 1 },
    { key: 'b"\\', count: 1 },
  ]);
});

test('addresses are counted by domain, times by hour, uploads by media type', async () => {
  assert.deepEqual(await keys(['A@Example.ORG', 'b@example.org', '"odd@name"@münchen.de'], 'emailDomain'), [
    { key: 'example.org', count: 2 },
    { key: 'münchen.de', count: 1 },
  ]);
  assert.deepEqual(await keys(['09:30', '09:59:59', '23:00'], 'hour'), [
    { key: '09', count: 2 },
    { key: '23', count: 1 },
  ]);
  assert.deepEqual(
    await keys([`${newId()} image/png`, `${newId()} image/png`, `${newId()} application/pdf`], 'mediaType'),
    [
      { key: 'image/png', count: 2 },
      { key: 'application/pdf', count: 1 },
    ],
  );
});

test('words are counted in lower case in every script, the fifty most frequent', async () => {
  const counts = await keys(
    ['Größe GRÖSSE größe, x', 'Привет, МИР! привет-мир', '漢字 漢字 漢', null, 'שלום 42 42'],
    'words',
  );
  assert.deepEqual(counts, [
    { key: '42', count: 2 },
    { key: 'größe', count: 2 },
    { key: 'мир', count: 2 },
    { key: 'привет', count: 2 },
    { key: '漢字', count: 2 },
    { key: 'grösse', count: 1 },
    { key: 'שלום', count: 1 },
  ]);
  const surveyId = await given([
    { codes: [1], texts: [Array.from({ length: 80 }, (_, index) => `word${index} word${index % 60}`).join(' ')] },
  ]);
  const many = await first(surveyId, 0, { kind: 'text', slot: 0, presence: 0, by: 'words' });
  assert.ok(many.kind === 'text');
  assert.equal(many.counts.length, 50);
  const counted = many.counts.reduce((sum, { count: mentions }) => sum + mentions, 0);
  assert.deepEqual(many.others, { keys: 30, count: 160 - counted }, 'what is not given is summed up');
});

test('marks, apostrophes and joiners belong to words, and differently encoded equal words are counted together', async () => {
  for (const [text, words] of spelledWords) {
    const wanted = new Map<string, number>();
    for (const word of words) wanted.set(word, (wanted.get(word) ?? 0) + 1);
    const counts = await keys([text], 'words');
    assert.deepEqual(
      new Map(counts.map(({ key, count: mentions }) => [key, mentions])),
      new Map(
        [...wanted].sort(
          ([one], [other]) => counts.findIndex(({ key }) => key === one) - counts.findIndex(({ key }) => key === other),
        ),
      ),
      text,
    );
  }
});

test('a text of another script makes words be counted with the full pattern, in one question or several', async () => {
  const usual = ['Größe, größe — “don’t” 42', 'Привет 漢字の漢字 👍 €5', 'plain words, plain texts'];
  const unusual = ['हिन्दी Café'.normalize('NFD'), 'col·lecció 3️⃣ ❤️', 'İstanbul'];
  const surveyId = newId();
  const store = (texts: readonly string[]) =>
    database.store(
      texts.map((text) => responseLine({ surveyId, codes: [1, 1], texts: [text, text] })),
      { codeColumns: 64 },
    );
  const wordsOf = async (store: TotalsStore, slots: readonly number[]) => {
    const plans = slots.map((slot) => ({
      questionId: `q${slot}`,
      plan: { base: [slot], requests: [{ kind: 'text', slot, presence: slot, by: 'words' }] } satisfies CountPlan,
    }));
    const { perQuestion } = await store.countSurvey({ surveyId, plans });
    return [...perQuestion.values()].map(
      ({ results: [result] }) =>
        result?.kind === 'text' && Object.fromEntries(result.counts.map(({ key, count: mentions }) => [key, mentions])),
    );
  };
  const wanted = (texts: readonly string[]) => {
    const tally: Record<string, number> = {};
    for (const word of texts.flatMap(wordsIn)) tally[word] = (tally[word] ?? 0) + 1;
    return tally;
  };
  const reads: string[] = [];
  const select: ClickHouse['select'] = (sql, options) => {
    reads.push(sql);
    return database.clickhouse.select(sql, options);
  };
  const counting = createTotalsStore({ clickhouse: { ...database.clickhouse, select } });
  const readsForAny = () => reads.filter((sql) => sql.includes('{L}')).length;
  await store(usual);
  assert.deepEqual([await wordsOf(counting, [0]), readsForAny()], [[wanted(usual)], 0]);
  await store(unusual);
  assert.deepEqual([await wordsOf(counting, [0]), readsForAny()], [[wanted([...usual, ...unusual])], 1]);
  const all = wanted([...usual, ...unusual]);
  assert.deepEqual(await wordsOf(createTotalsStore({ clickhouse: database.clickhouse }), [0, 1]), [all, all]);
});
