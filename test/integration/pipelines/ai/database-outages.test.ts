import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { createAiStore } from '../../../../src/stores/postgres/ai/jobs.ts';
import { createAiNotes } from '../../../../src/stores/postgres/ai/notes.ts';
import {
  type AnalysisFixture,
  answersOf,
  connectionRefused,
  dataOf,
  openAnalysisFixture,
  textsOf,
} from '../../../support/analysis-fixture.ts';

describe('an analysis during which the database restarts', () => {
  let scene: AnalysisFixture;
  let ai: AnalysisFixture['ai'];
  before(async () => {
    scene = await openAnalysisFixture();
    ({ ai } = scene);
  });
  after(() => scene?.close());
  beforeEach(() => scene.reset());

  const storedOf = async (surveyId: string) =>
    (
      await scene.postgres.sql<
        { count: number }[]
      >`SELECT count(*) AS count FROM ai_findings WHERE survey_id = ${surveyId}`
    )[0]?.count;

  /** A step that finds the database away the first time; `missed` gets its name. */
  const awayOnce =
    (missed: Set<string>) =>
    <Given extends unknown[], Result>(name: string, step: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      if (missed.has(name)) return step(...given);
      missed.add(name);
      throw connectionRefused();
    };

  it('goes on after an outage at each lookup and deletion, and without publishing its progress', async () => {
    const real = createAiStore(scene.postgres.sql);
    const missed = new Set<string>();
    const onceAway = awayOnce(missed);
    const { add, run, id } = await scene.openSurvey({
      type: 'themes',
      batchSize: 10,
      store: {
        digests: onceAway('digests', real.digests),
        markSeen: onceAway('seen', real.markSeen),
        themeCounts: onceAway('themeCounts', real.themeCounts),
        dropErased: onceAway('dropErased', real.dropErased),
        dropUnseen: onceAway('dropUnseen', real.dropUnseen),
        heartbeat: async () => {
          missed.add('touch');
          throw connectionRefused();
        },
      },
    });
    ai.answer = (call) =>
      'same' in call.schema.properties
        ? { same: [] }
        : { answers: dataOf(call).answers.map(({ n }: any) => ({ n, sentiment: 'neutral', themes: ['Topic'] })) };
    await add(answersOf(20));
    await run();
    assert.deepEqual([...missed].sort(), ['digests', 'dropErased', 'dropUnseen', 'seen', 'themeCounts', 'touch']);
    assert.deepEqual(ai.calls.slice(0, 2).flatMap(textsOf), answersOf(20));
    assert.equal(await storedOf(id), 20);
  });

  it('goes on after an outage of ClickHouse at each of its reads, and reads no answer twice', async () => {
    const missed = new Set<string>();
    const awayOnceFor =
      (select: ClickHouse['select']): ClickHouse['select'] =>
      async (sql, options) => {
        const statement = sql.replace(/'[^']*'/g, '');
        if (missed.has(statement)) return select(sql, options);
        missed.add(statement);
        throw unavailable('The response store cannot be reached', 2, connectionRefused());
      };
    const { add, run, id } = await scene.openSurvey({ type: 'sentiment', batchSize: 10, select: awayOnceFor });
    ai.answer = (call) => ({ answers: dataOf(call).answers.map(({ n }: any) => ({ n, sentiment: 'neutral' })) });
    await add(answersOf(20));
    await run();
    assert.ok(missed.size >= 4, `${missed.size} statements`);
    assert.deepEqual(ai.calls.flatMap(textsOf), answersOf(20));
    assert.equal(await storedOf(id), 20);
  });

  it('goes on after an outage while its themes are merged, and asks for no decision twice', async () => {
    const real = createAiStore(scene.postgres.sql);
    const missed = new Set<string>();
    const onceAway = awayOnce(missed);
    const { add, run, scope } = await scene.openSurvey({
      type: 'themes',
      batchSize: 10,
      store: {
        dropUnusedThemes: onceAway('dropUnusedThemes', real.dropUnusedThemes),
        mergeThemes: onceAway('mergeThemes', real.mergeThemes),
        settleThemes: onceAway('settleThemes', real.settleThemes),
      },
    });
    ai.answer = (call) =>
      'same' in call.schema.properties
        ? { same: [{ n: 1, as: 2 }] }
        : {
            answers: dataOf(call).answers.map(({ n }: any) => ({
              n,
              sentiment: 'neutral',
              themes: [n % 2 ? 'Food' : 'Meals'],
            })),
          };
    await add(answersOf(9));
    await run();
    assert.deepEqual([[...missed].sort(), ai.calls.length], [['dropUnusedThemes', 'mergeThemes', 'settleThemes'], 2]);
    assert.deepEqual(
      (await real.themes(scope, 5)).map(({ name, count }) => [name, count]),
      [['Food', 9]],
    );
  });

  it('goes on after an outage while notes are summarised, and asks for no summary twice', async () => {
    const real = createAiStore(scene.postgres.sql);
    const missed = new Set<string>();
    const onceAway = awayOnce(missed);
    const names = ['dropUnusedNotes', 'dropUnseenSummaries', 'lastResult', 'saveSummary', 'findSummary'] as const;
    const store = {
      dropUnusedNotes: onceAway('dropUnusedNotes', real.dropUnusedNotes),
      dropUnseenSummaries: onceAway('dropUnseenSummaries', real.dropUnseenSummaries),
      lastResult: onceAway('lastResult', real.lastResult),
      saveSummary: onceAway('saveSummary', real.saveSummary),
      findSummary: onceAway('findSummary', real.findSummary),
    };
    const { add, run } = await scene.openSurvey({ type: 'summary', batchSize: 1, batchesAtOnce: 8, store });
    ai.answer = (call) =>
      'note' in call.schema.properties
        ? { note: 'a note' }
        : { summary: `of ${dataOf(call).notes.length}`, insights: [], recommendations: [] };
    await add(answersOf(41));
    assert.equal((await run())?.conclusion.summary, 'of 2');
    assert.deepEqual([[...missed].sort(), ai.calls.length], [[...names].sort(), 43]);
  });

  it('reads a page of notes again after an outage', async () => {
    const { sql } = scene.postgres;
    const { add, run, scope } = await scene.openSurvey({ type: 'summary', batchSize: 1 });
    ai.answer = (call) =>
      'note' in call.schema.properties
        ? { note: `on ${textsOf(call)[0]}` }
        : { summary: 'all', insights: [], recommendations: [] };
    await add(answersOf(3));
    await run();
    let reads = 0;
    const flaky = new Proxy(sql, {
      apply(target, self, given: [readonly string[], ...unknown[]]) {
        if (given[0].join('').includes('SELECT id, note') && ++reads === 1) throw connectionRefused();
        return Reflect.apply(target, self, given);
      },
    });
    const notes: string[] = [];
    for await (const note of createAiNotes(flaky).listNotes(scope)) notes.push(note);
    assert.deepEqual([reads, notes], [2, ['on answer 0', 'on answer 1', 'on answer 2']]);
  });
});
