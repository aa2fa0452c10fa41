import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { newId } from '../../../../src/platform/ids.ts';
import { createAiAnnotationRows } from '../../../../src/stores/postgres/ai/annotations.ts';
import { type AiStore, createAiStore } from '../../../../src/stores/postgres/ai/jobs.ts';
import { disobedient, type SeenCall } from '../../../support/ai-provider.ts';
import {
  type AnalysisFixture,
  answersOf,
  connectionRefused,
  dataOf,
  openAnalysisFixture,
  textsOf,
} from '../../../support/analysis-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

describe('the batches of an analysis', () => {
  let scene: AnalysisFixture;
  let ai: AnalysisFixture['ai'];
  before(async () => {
    scene = await openAnalysisFixture();
    ({ ai } = scene);
  });
  after(() => scene?.close());
  beforeEach(() => {
    scene.reset();
    ai.answer = (call) => ({ answers: dataOf(call).answers.map(({ n }: any) => ({ n, sentiment: 'neutral' })) });
  });
  /** A valid reply to any call. */
  const answerTo = (call: SeenCall): unknown =>
    'same' in call.schema.properties
      ? { same: [] }
      : 'summary' in call.schema.properties
        ? { summary: 'all', insights: [], recommendations: [] }
        : 'note' in call.schema.properties
          ? { note: 'a note' }
          : {
              answers: dataOf(call).answers.map(({ n }: any) => ({
                n,
                sentiment: 'neutral',
                ...('themes' in call.schema.properties.answers.items.properties && { themes: ['Food'] }),
              })),
            };

  /** A store whose `saveAnnotations` first runs `before`, which may wait or fail; `save` counts from 1. */
  const saving = (before: (save: number) => Promise<void>): Pick<AiStore, 'saveAnnotations'> => {
    const { saveAnnotations } = createAiStore(scene.postgres.sql);
    let saves = 0;
    return {
      async saveAnnotations(...given) {
        saves += 1;
        await before(saves);
        await saveAnnotations(...given);
      },
    };
  };

  const isAccepted = (call: SeenCall): boolean => !textsOf(call).includes('bad');

  /** A UUIDv7 of so many hours ago. */
  const idOfAge = (hours: number): string => {
    const time = (Date.now() - hours * 3_600_000).toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}${newId().slice(13)}`;
  };

  const storedOf = async (surveyId: string) =>
    (
      await scene.postgres.sql<
        { count: number }[]
      >`SELECT count(*) AS count FROM ai_findings WHERE survey_id = ${surveyId}`
    )[0]?.count;

  it('are prepared one ahead of the calls under way', async () => {
    const prepared: string[] = [];
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const { add, run } = await scene.openSurvey({
      type: 'sentiment',
      batchSize: 10,
      anonymiseAll: async (texts) => {
        prepared.push(texts[0] ?? '');
        return texts.map((text) => `masked ${text}`);
      },
    });
    await add(answersOf(50));
    ai.holdUntil = answered;
    const done = run();
    await eventually(() => assert.deepEqual([ai.calls.length, prepared.length], [1, 2]));
    for (let turns = 0; turns < 200; turns += 1) await turn();
    assert.deepEqual(prepared, ['answer 0', 'answer 10']);
    answer();
    await done;
    assert.deepEqual(
      ai.calls.flatMap(textsOf),
      answersOf(50).map((text) => `masked ${text}`),
    );
  });

  for (const type of ['sentiment', 'themes', 'summary'] as const)
    it(`are sent one after the other, each when the reply before it is stored; until then that reply is kept: ${type}`, async () => {
      let store = (): void => undefined;
      const mayStore = new Promise<void>((resolve) => (store = resolve));
      const { add, run, id, scope } = await scene.openSurvey({
        type,
        batchSize: 10,
        store: saving((save) => (save === 2 ? mayStore : Promise.resolve())),
      });
      ai.answer = answerTo;
      await add(answersOf(40));
      const done = run();
      await eventually(async () => assert.equal((await scene.unsavedReplies.list(scope)).length, 1));
      await eventually(() => assert.equal(ai.calls.length, 2));
      for (let turns = 0; turns < 200; turns += 1) await turn();
      assert.deepEqual([ai.calls.length, await storedOf(id)], [2, 10]);
      store();
      await done;
      assert.deepEqual([await storedOf(id), await scene.unsavedReplies.list(scope)], [40, []]);
    });

  it('are stored although the reply could not be kept', async () => {
    const save = async (): Promise<void> => {
      throw new Error('away');
    };
    const { add, run, id } = await scene.openSurvey({ type: 'sentiment', batchSize: 10, unsavedReplies: { save } });
    await add(answersOf(40));
    await run();
    assert.deepEqual([ai.calls.length, await storedOf(id)], [4, 40]);
  });

  for (const type of ['sentiment', 'themes', 'summary'] as const)
    it(`are not sent again where an earlier job received the reply and did not store it, although new answers came in: ${type}`, async () => {
      const real = createAiStore(scene.postgres.sql);
      let isDying = true;
      const { add, run, id, scope } = await scene.openSurvey({
        type,
        batchSize: 10,
        unsavedReplies: { remove: async (...given) => (isDying ? undefined : scene.unsavedReplies.remove(...given)) },
        store: {
          saveAnnotations: async (...given) => {
            if (isDying) throw new Error('killed');
            await real.saveAnnotations(...given);
          },
        },
      });
      ai.answer = answerTo;
      await add(answersOf(10));
      await assert.rejects(run(), /killed/);
      assert.deepEqual([ai.calls.length, await storedOf(id)], [1, 0]);
      isDying = false;
      // Batches are others than before.
      await add(answersOf(25).slice(10), { isEarlier: true });
      await run();
      const sent = ai.calls.filter((call) => 'answers' in dataOf(call)).flatMap(textsOf);
      assert.deepEqual(sent.toSorted(), answersOf(25).slice(10).toSorted(), 'nothing is sent twice');
      assert.equal(await storedOf(id), 25);
      if (type === 'themes')
        assert.deepEqual(
          (await real.themes(scope, 5)).map(({ name, count }) => [name, count]),
          [['Food', 25]],
        );
      assert.deepEqual(await scene.unsavedReplies.list(scope), []);
    });

  it('leave nothing of an unsaved reply whose response is gone, and delete an invalid one', async () => {
    const { add, run, id, scope } = await scene.openSurvey({ type: 'sentiment', batchSize: 10 });
    const [gone, questionId] = [newId(), newId()];
    const digest = '00'.repeat(16);
    await scene.unsavedReplies.save(scope, {
      id: newId(),
      answers: [{ responseId: gone, questionId, digest }],
      text: '{"answers":[{"n":1,"sentiment":"neutral"}]}',
    });
    await scene.unsavedReplies.save(scope, {
      id: newId(),
      answers: [{ responseId: gone, questionId, digest }],
      text: 'no',
    });
    await scene.unsavedReplies.save({ ...scope, topic: 'themes/test' }, { id: newId(), answers: [], text: '{}' });
    await add(answersOf(5));
    await run();
    assert.deepEqual(
      [
        await storedOf(id),
        (await scene.unsavedReplies.list(scope)).length,
        (await scene.unsavedReplies.list({ ...scope, topic: 'themes/test' })).length,
      ],
      [5, 0, 1],
    );
    await scene.unsavedReplies.removeOfSurvey(id);
    assert.deepEqual(await scene.unsavedReplies.list({ ...scope, topic: 'themes/test' }), []);
  });

  for (const type of ['sentiment', 'themes', 'summary'] as const)
    it(`neither store nor send what an unsaved reply says of a response that was erased since: ${type}`, async () => {
      const { sql } = scene.postgres;
      const { add, run, id, scope } = await scene.openSurvey({ type, batchSize: 10 });
      ai.answer = answerTo;
      await sql`INSERT INTO ai_jobs ${sql({ id: newId(), owner_id: (await sql<{ id: string }[]>`SELECT id FROM users`)[0]?.id ?? '', survey_id: id, topic: scope.topic, request: {}, status: 'FAILED', updated_at: new Date(Date.now() - 20 * 3_600_000) })}`;
      const responseId = newId();
      const reply =
        type === 'summary'
          ? { note: 'their secret' }
          : { answers: [{ n: 1, sentiment: 'neutral', themes: ['Their secret'] }] };
      await scene.unsavedReplies.save(scope, {
        id: newId(),
        answers: [{ responseId, questionId: newId(), digest: '00'.repeat(16) }],
        text: JSON.stringify(reply),
      });
      await createAiAnnotationRows(sql).removeOfResponses(id, [responseId]);
      await add(answersOf(5));
      const saved: unknown[] = [];
      ai.answer = (call) => {
        saved.push(call.user);
        return answerTo(call);
      };
      await run();
      assert.doesNotMatch(JSON.stringify(saved), /secret/i);
      const [left] = await sql<{ notes: number; themes: number }[]>`
        SELECT (SELECT count(*) FROM ai_notes WHERE survey_id = ${id} AND note ~ 'secret') AS notes, (SELECT count(*) FROM ai_themes WHERE survey_id = ${id} AND ai_themes::text ~ 'secret') AS themes`;
      assert.deepEqual(
        [{ ...left }, await storedOf(id), await scene.unsavedReplies.list(scope)],
        [{ notes: 0, themes: 0 }, 5, []],
      );
    });

  it('keep an unsaved reply for a day at most, although others of its survey are kept', async () => {
    const { id, scope } = await scene.openSurvey({ type: 'sentiment', batchSize: 10 });
    await scene.unsavedReplies.save(scope, { id: idOfAge(25), answers: [], text: '{}' });
    await scene.unsavedReplies.save({ ...scope, topic: 'themes/test' }, { id: idOfAge(23), answers: [], text: '{}' });
    assert.deepEqual(await scene.unsavedReplies.list(scope), []);
    assert.equal(await scene.redis.hlen(`ai:paid:${id}`), 1);
    await scene.unsavedReplies.removeOfSurvey(id);
  });

  it('keep the replies to a batch that fails, unless the job was cancelled', async () => {
    for (const isOurs of [true, false]) {
      const { add, run, scope } = await scene.openSurvey({
        type: 'sentiment',
        batchSize: 4,
        store: { heartbeat: async () => isOurs },
      });
      let calls = 0;
      ai.answer = (call) => {
        calls += 1;
        if (calls > 2 && isAccepted(call)) ai.faults.push({ status: 401 });
        return isAccepted(call)
          ? { answers: dataOf(call).answers.map(({ n }: any) => ({ n, sentiment: 'neutral' })) }
          : disobedient({});
      };
      await add(['a', 'b', 'bad', 'd']);
      await assert.rejects(run(), { code: 'AI_KEY_INVALID' });
      assert.equal(
        (await scene.unsavedReplies.list(scope)).some(({ text }) => text.includes('neutral')),
        isOurs,
      );
    }
  });

  it('are stored when the database is back, without being sent again', async () => {
    const { add, run } = await scene.openSurvey({
      type: 'sentiment',
      batchSize: 10,
      store: saving(async (save) => {
        if (save === 2) throw connectionRefused();
      }),
    });
    await add(answersOf(40));
    await run();
    assert.deepEqual(ai.calls.flatMap(textsOf), answersOf(40));
  });

  it('fail where they cannot be stored, and the next job sends only those without a reply', async () => {
    let isBroken = true;
    const { add, run, id } = await scene.openSurvey({
      type: 'sentiment',
      batchSize: 10,
      store: saving(async (save) => {
        if (isBroken && save === 2) throw new Error('no room');
      }),
    });
    await add(answersOf(60));
    await assert.rejects(run(), /no room/);
    const sent = ai.calls.flatMap(textsOf);
    assert.ok(sent.length <= 40, `${sent.length} answers`);
    isBroken = false;
    await run();
    assert.deepEqual([...sent, ...ai.calls.flatMap(textsOf)], answersOf(60));
    assert.equal(await storedOf(id), 60);
  });

  it('are sent up to the first that cannot be anonymised', async () => {
    const { add, run, id } = await scene.openSurvey({
      type: 'sentiment',
      batchSize: 10,
      anonymiseAll: async (texts) => {
        if (texts[0] === 'answer 20') throw new Error('broken');
        return [...texts];
      },
    });
    await add(answersOf(50));
    ai.delayMs = 20;
    await assert.rejects(run(), { code: 'INTERNAL_ERROR' });
    assert.deepEqual(ai.calls.flatMap(textsOf), answersOf(20));
    assert.equal(await storedOf(id), 20);
  });

  it('show each call the themes of the batches before it', async () => {
    const { add, run } = await scene.openSurvey({ type: 'themes', batchSize: 10 });
    ai.answer = (call) =>
      'same' in call.schema.properties
        ? { same: [] }
        : {
            answers: dataOf(call).answers.map(({ n, text }: any) => ({
              n,
              sentiment: 'neutral',
              themes: [`Topic ${'abcde'[(Number(text.split(' ')[1]) / 10) | 0]}`],
            })),
          };
    await add(answersOf(50));
    await run();
    assert.deepEqual(
      ai.calls.slice(0, 5).map((call) => dataOf(call).knownThemes.length),
      [0, 1, 2, 3, 4],
    );
  });

  it('count as progress when their answers are stored or known, not when they are read', async () => {
    const published: (number | null)[] = [];
    let prepared = 0;
    const { add, run } = await scene.openSurvey({
      type: 'sentiment',
      batchSize: 10,
      batchesAtOnce: 2,
      anonymiseAll: async (texts) => {
        prepared += 1;
        return [...texts];
      },
      store: {
        async heartbeat(_, progress) {
          published.push(progress);
          return true;
        },
      },
    });
    await add(answersOf(20));
    let answer = (): void => undefined;
    ai.holdUntil = new Promise<void>((resolve) => (answer = resolve));
    const first = run();
    await eventually(() => assert.deepEqual([ai.calls.length, prepared], [2, 2]));
    for (let turns = 0; turns < 200; turns += 1) await turn();
    assert.deepEqual(published, [], 'nothing is answered yet');
    answer();
    await first;
    assert.equal(published[0], 0.5);
    published.length = 0;
    await add(answersOf(20).map((text) => `new ${text}`));
    ai.holdUntil = new Promise<void>((resolve) => (answer = resolve));
    const second = run();
    await eventually(() => assert.deepEqual([ai.calls.length, published], [2, [0.5]]));
    answer();
    await second;
    assert.ok(
      published.every((progress) => progress !== null && progress >= 0.5 && progress <= 0.99),
      JSON.stringify(published),
    );
  });
});
