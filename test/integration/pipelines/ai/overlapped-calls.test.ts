import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { newId } from '../../../../src/platform/ids.ts';
import { createAiAnnotationRows } from '../../../../src/stores/postgres/ai/annotations.ts';
import { type AiStore, createAiStore } from '../../../../src/stores/postgres/ai/jobs.ts';
import type { UnsavedReplies } from '../../../../src/stores/redis/ai/unsaved-replies.ts';
import type { SeenCall } from '../../../support/ai-provider.ts';
import {
  type AnalysisFixture,
  answersOf,
  connectionRefused,
  dataOf,
  openAnalysisFixture,
  textsOf,
} from '../../../support/analysis-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

describe('an analysis whose calls are under way', () => {
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
  /** To whatever is asked. */
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

  /** The store, of which `saveAnnotations` waits or fails as it is told. */
  const saving = (before: (save: number) => Promise<void>): Pick<AiStore, 'saveAnnotations'> => {
    const { saveAnnotations } = createAiStore(scene.postgres.sql);
    let saves = 0;
    return {
      async saveAnnotations(...given) {
        await before(++saves);
        await saveAnnotations(...given);
      },
    };
  };

  const isHeard = (call: SeenCall): boolean => !textsOf(call).includes('bad');

  /** A UUIDv7 as it was made so long ago. */
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

  it('makes the next batch ready meanwhile, and no more', async () => {
    const prepared: string[] = [];
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
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

  /** What keeps replies, of which `keep` waits or fails as it is told. */
  const keeping = (before: (keep: number) => Promise<void>): Pick<UnsavedReplies, 'save'> => {
    let keeps = 0;
    return {
      async save(...given) {
        await before(++keeps);
        await scene.paid.save(...given);
      },
    };
  };

  for (const type of ['sentiment', 'themes', 'summary'] as const)
    it(`sends no batch before the reply to the one that was answered is kept: ${type}`, async () => {
      let keep = (): void => undefined;
      const mayKeep = new Promise<void>((resolve) => {
        keep = resolve;
      });
      const { add, run, id } = await scene.openSurvey({
        type,
        batchSize: 10,
        paid: keeping(async (kept) => (kept === 2 ? mayKeep : undefined)),
      });
      ai.answer = answerTo;
      await add(answersOf(40));
      const done = run();
      await eventually(() => assert.equal(ai.calls.length, 2));
      for (let turns = 0; turns < 200; turns += 1) await turn();
      assert.equal(ai.calls.length, 2, 'it would be paid for twice by who takes the job over now');
      keep();
      await done;
      assert.equal(await storedOf(id), 40);
    });

  it('stores a reply beside the next call, but never more of them than calls may be under way', async () => {
    let store = (): void => undefined;
    const mayStore = new Promise<void>((resolve) => {
      store = resolve;
    });
    let prepare = (): void => undefined;
    const isThirdPrepared = new Promise<void>((resolve) => {
      prepare = resolve;
    });
    const anonymiseAll = async (texts: readonly string[]): Promise<string[]> => {
      if (texts[0] === 'answer 20') prepare();
      return [...texts];
    };
    const { add, run, id } = await scene.openSurvey({
      type: 'sentiment',
      batchSize: 10,
      anonymiseAll,
      store: saving(() => mayStore),
    });
    await add(answersOf(60));
    // A call that is answered before the next batch is there finds the reply to it waiting too.
    ai.faultOf = (call) => {
      if (textsOf(call)[0] === 'answer 10') ai.holdUntil = isThirdPrepared;
      return undefined;
    };
    const done = run().finally(() => {
      ai.faultOf = undefined;
      return ai.faultOf;
    });
    await eventually(() => assert.equal(ai.calls.length, 3));
    for (let turns = 0; turns < 200; turns += 1) await turn();
    assert.deepEqual([ai.calls.length, await storedOf(id)], [3, 0]);
    store();
    await done;
    assert.equal(await storedOf(id), 60);
    assert.deepEqual(await scene.paid.list({ surveyId: id, topic: 'sentiment/test' }), [], 'nothing is kept longer');
  });

  it('stores a reply before the next call where it cannot be kept', async () => {
    let store = (): void => undefined;
    const mayStore = new Promise<void>((resolve) => {
      store = resolve;
    });
    const keep = async (): Promise<void> => {
      throw new Error('away');
    };
    const { add, run, id } = await scene.openSurvey({
      type: 'sentiment',
      batchSize: 10,
      paid: { save: keep },
      store: saving(async (save) => (save === 2 ? mayStore : undefined)),
    });
    await add(answersOf(40));
    const done = run();
    await eventually(() => assert.equal(ai.calls.length, 2));
    for (let turns = 0; turns < 200; turns += 1) await turn();
    assert.equal(ai.calls.length, 2);
    store();
    await done;
    assert.equal(await storedOf(id), 40);
  });

  for (const type of ['sentiment', 'themes', 'summary'] as const)
    it(`finds the replies that a process kept and did not store, whatever came in since: ${type}`, async () => {
      const real = createAiStore(scene.postgres.sql);
      let isDying = true;
      const { add, run, id, scope } = await scene.openSurvey({
        type,
        batchSize: 10,
        paid: { remove: async (...given) => (isDying ? undefined : scene.paid.remove(...given)) },
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
      assert.deepEqual(sent.toSorted(), answersOf(25).slice(10).toSorted(), 'nothing is paid for twice');
      assert.equal(await storedOf(id), 25);
      if (type === 'themes')
        assert.deepEqual(
          (await real.themes(scope, 5)).map(({ name, count }) => [name, count]),
          [['Food', 25]],
        );
      assert.deepEqual(await scene.paid.list(scope), []);
    });

  it('leaves nothing of a kept reply whose response is gone, and drops one that fits nothing', async () => {
    const { add, run, id, scope } = await scene.openSurvey({ type: 'sentiment', batchSize: 10 });
    const [gone, questionId] = [newId(), newId()];
    const digest = '00'.repeat(16);
    await scene.paid.save(scope, {
      id: newId(),
      answers: [{ responseId: gone, questionId, digest }],
      text: '{"answers":[{"n":1,"sentiment":"neutral"}]}',
    });
    await scene.paid.save(scope, { id: newId(), answers: [{ responseId: gone, questionId, digest }], text: 'no' });
    await scene.paid.save({ ...scope, topic: 'themes/test' }, { id: newId(), answers: [], text: '{}' });
    await add(answersOf(5));
    await run();
    assert.deepEqual(
      [
        await storedOf(id),
        (await scene.paid.list(scope)).length,
        (await scene.paid.list({ ...scope, topic: 'themes/test' })).length,
      ],
      [5, 0, 1],
    );
    await scene.paid.removeOfSurvey(id);
    assert.deepEqual(await scene.paid.list({ ...scope, topic: 'themes/test' }), []);
  });

  for (const type of ['sentiment', 'themes', 'summary'] as const)
    it(`neither stores nor tells what a kept reply says of a response that was erased since: ${type}`, async () => {
      const { sql } = scene.postgres;
      const { add, run, id, scope } = await scene.openSurvey({ type, batchSize: 10 });
      ai.answer = answerTo;
      await sql`INSERT INTO ai_jobs ${sql({ id: newId(), owner_id: (await sql<{ id: string }[]>`SELECT id FROM users`)[0]?.id ?? '', survey_id: id, topic: scope.topic, request: {}, status: 'FAILED', updated_at: new Date(Date.now() - 20 * 3_600_000) })}`;
      const responseId = newId();
      const said =
        type === 'summary'
          ? { note: 'their secret' }
          : { answers: [{ n: 1, sentiment: 'neutral', themes: ['Their secret'] }] };
      await scene.paid.save(scope, {
        id: newId(),
        answers: [{ responseId, questionId: newId(), digest: '00'.repeat(16) }],
        text: JSON.stringify(said),
      });
      await createAiAnnotationRows(sql).removeOfResponses([responseId]);
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
        [{ ...left }, await storedOf(id), await scene.paid.list(scope)],
        [{ notes: 0, themes: 0 }, 5, []],
      );
    });

  it('keeps no reply longer than a day, whatever else of its survey is kept', async () => {
    const { id, scope } = await scene.openSurvey({ type: 'sentiment', batchSize: 10 });
    await scene.paid.save(scope, { id: idOfAge(25), answers: [], text: '{}' });
    await scene.paid.save({ ...scope, topic: 'themes/test' }, { id: idOfAge(23), answers: [], text: '{}' });
    assert.deepEqual(await scene.paid.list(scope), []);
    assert.equal(await scene.redis.hlen(`ai:paid:${id}`), 1);
    await scene.paid.removeOfSurvey(id);
  });

  it('drops what it kept of a batch that comes to nothing where nobody goes on with the job', async () => {
    for (const isOurs of [true, false]) {
      const { add, run, scope } = await scene.openSurvey({
        type: 'sentiment',
        batchSize: 4,
        store: { heartbeat: async () => isOurs },
      });
      let calls = 0;
      ai.answer = (call) => {
        calls += 1;
        if (calls > 2 && isHeard(call)) ai.faults.push({ status: 401 });
        return isHeard(call)
          ? { answers: dataOf(call).answers.map(({ n }: any) => ({ n, sentiment: 'neutral' })) }
          : {};
      };
      await add(['a', 'b', 'bad', 'd']);
      await assert.rejects(run(), { code: 'AI_KEY_INVALID' });
      assert.equal(
        (await scene.paid.list(scope)).some(({ text }) => text.includes('neutral')),
        isOurs,
      );
    }
  });

  it('stores that the provider refuses an answer before the next call, for nothing else tells who takes the job over', async () => {
    let store = (): void => undefined;
    const mayStore = new Promise<void>((resolve) => {
      store = resolve;
    });
    let saves = 0;
    const { add, run, id } = await scene.openSurvey({
      type: 'sentiment',
      batchSize: 4,
      store: saving(() => {
        saves += 1;
        return mayStore;
      }),
    });
    ai.answer = (call) => (isHeard(call) ? answerTo(call) : {});
    await add(['a', 'b', 'bad', 'd', 'e', 'f', 'g', 'h']);
    const done = run();
    await eventually(() => assert.equal(saves, 1));
    for (let turns = 0; turns < 200; turns += 1) await turn();
    assert.equal(ai.calls.flatMap(textsOf).includes('e'), false);
    store();
    await done;
    assert.equal(await storedOf(id), 8);
  });

  it('looks beside the next call for responses that were erased, and ends when that is over', async () => {
    const { dropErased } = createAiStore(scene.postgres.sql);
    let go = (): void => undefined;
    const mayGo = new Promise<void>((resolve) => {
      go = resolve;
    });
    let looks = 0;
    const { add, run } = await scene.openSurvey({
      type: 'sentiment',
      batchSize: 10,
      store: {
        async dropErased(responseIds) {
          looks += 1;
          await mayGo;
          await dropErased(responseIds);
        },
      },
    });
    await add(answersOf(20));
    let isOver = false;
    const done = run().finally(() => {
      isOver = true;
      return isOver;
    });
    await eventually(() => assert.deepEqual([ai.calls.length, looks], [2, 2]));
    for (let turns = 0; turns < 200; turns += 1) await turn();
    assert.equal(isOver, false);
    go();
    await done;
  });

  it('stores an answer again that the database was away for, without asking for it again', async () => {
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

  it('fails where an answer cannot be stored, and when it runs again pays only for what was never answered', async () => {
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
    const paid = ai.calls.flatMap(textsOf);
    assert.ok(paid.length <= 40, `${paid.length} answers`);
    isBroken = false;
    await run();
    assert.deepEqual([...paid, ...ai.calls.flatMap(textsOf)], answersOf(60));
    assert.equal(await storedOf(id), 60);
  });

  for (const [what, step] of [
    ['themes cannot be named', 'registerThemes'],
    ['findings cannot be stored', 'saveAnnotations'],
  ] as const)
    it(`fails only when the call is written down whose ${what}`, async () => {
      let write = (): void => undefined;
      let isWritten = false;
      const noted = new Promise<void>((resolve) => {
        write = () => {
          isWritten = true;
          resolve();
        };
      });
      const fail = async () => {
        setTimeout(write, 200);
        throw new Error('no room');
      };
      const { add, run } = await scene.openSurvey({ type: 'themes', batchSize: 10, noted, store: { [step]: fail } });
      ai.answer = (call) => ({
        answers: dataOf(call).answers.map(({ n }: any) => ({ n, sentiment: 'neutral', themes: ['Topic'] })),
      });
      await add(answersOf(5));
      await assert.rejects(run(), /no room/);
      assert.ok(isWritten);
    });

  it('sends what was ready before a batch that cannot be made anonymous, and nothing of that one', async () => {
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

  it('tells each batch of the themes that those before it had', async () => {
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

  it('says that it has come as far as answers are known or finished, not as they are read', async () => {
    const told: (number | null)[] = [];
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
        heartbeat: async (_, progress) => {
          told.push(progress);
          return true;
        },
      },
    });
    await add(answersOf(20));
    let answer = (): void => undefined;
    ai.holdUntil = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const first = run();
    await eventually(() => assert.deepEqual([ai.calls.length, prepared], [2, 2]));
    for (let turns = 0; turns < 200; turns += 1) await turn();
    assert.deepEqual(told, [], 'nothing is answered yet');
    answer();
    await first;
    assert.equal(told[0], 0.5);
    told.length = 0;
    await add(answersOf(20).map((text) => `new ${text}`));
    ai.holdUntil = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const second = run();
    await eventually(() => assert.deepEqual([ai.calls.length, told], [2, [0.5]]));
    answer();
    await second;
    assert.ok(
      told.every((progress) => progress !== null && progress >= 0.5 && progress <= 0.99),
      JSON.stringify(told),
    );
  });
});
