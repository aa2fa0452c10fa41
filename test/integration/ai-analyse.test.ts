import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createOpenAi } from '../../src/ai/openai.ts';
import type { AnalysisType } from '../../src/ai/analyses.ts';
import { blankSurvey } from '../../src/domain/blank-survey.ts';
import type { Question, SurveyWithQuestions } from '../../src/domain/survey.ts';
import { newId } from '../../src/ids.ts';
import { createLog } from '../../src/log.ts';
import { analyse } from '../../src/pipelines/ai/analysis/analyse.ts';
import { createAiStore, type AiStore, type SurveyJob } from '../../src/stores/postgres/ai.ts';
import { createAiFindingRows } from '../../src/stores/postgres/ai-findings.ts';
import { createSurveyStore } from '../../src/stores/postgres/surveys.ts';
import { startAiProvider, standInKey, type AiProviderServer, type SeenCall } from '../support/ai-provider.ts';
import { freshDatabase } from '../support/people-server.ts';
import { givenStart, openResponseDatabase, responseLine, type ResponseDatabase } from '../support/response-database.ts';

const dataOf = ({ user }: SeenCall): any => JSON.parse(user[0] ?? '{}');

describe('an analysis of many answers', () => {
  let postgres: Awaited<ReturnType<typeof freshDatabase>>;
  let responses: ResponseDatabase;
  let ai: AiProviderServer;
  const ownerId = newId();
  before(async () => {
    postgres = await freshDatabase();
    await postgres.sql`INSERT INTO users ${postgres.sql({ id: ownerId, email: 'a@example.org', email_key: 'a@example.org', password_hash: '-', role: 'EDITOR' })}`;
    responses = await openResponseDatabase();
    ai = await startAiProvider();
  });
  after(async () => {
    await ai?.close();
    await postgres?.drop();
    await responses?.close();
  });
  beforeEach(() => {
    ai.calls.length = 0;
    ai.faults.length = 0;
    ai.delayMs = 0;
  });

  /** A survey with one open question; `asked` counts what the store is asked for, by name. */
  const openSurvey = async (type: AnalysisType, batchSize: number, batchesAtOnce = 1) => {
    const survey = { ...blankSurvey(newId(), ownerId, Date.now()), title: 'Canteen' };
    await createSurveyStore(postgres.sql).create(survey);
    const question = { id: newId(), type: 'LONG_TEXT', text: 'What do you think?', isHidden: false, options: [], rows: [], settings: {}, slots: { codes: { '': 0 }, numbers: {}, texts: { '': 0 } } } as unknown as Question;
    const withQuestions = { ...survey, questions: [question], slotCounts: { codes: 1, numbers: 0, texts: 1 } } as SurveyWithQuestions;
    const asked = new Map<string, number>();
    const real = createAiStore(postgres.sql);
    const store = new Proxy(real, {
      get(target, name: keyof AiStore & string) {
        asked.set(name, (asked.get(name) ?? 0) + 1);
        return target[name];
      },
    });
    let told = 0;
    const add = (texts: string[]) => responses.store(texts.map((text) => responseLine({ surveyId: survey.id, submittedAtMs: givenStart + (told += 1), codes: [1], texts: [text] })));
    const provider = createOpenAi({ apiKey: standInKey, baseUrl: ai.env['OPENAI_BASE_URL'], models: { high: 'large', low: 'small' }, timeoutMs: 10_000, fetch });
    const run = async () => {
      const job: SurveyJob = { id: newId(), ownerId, surveyId: survey.id, topic: `${type}/test`, request: { analysisType: type }, status: 'RUNNING', progress: 0, error: null, claim: null };
      await postgres.sql`INSERT INTO ai_jobs ${postgres.sql({ id: job.id, owner_id: ownerId, survey_id: survey.id, topic: job.topic, request: postgres.sql.json(job.request), status: 'RUNNING' })}`;
      asked.clear();
      ai.calls.length = 0;
      const deps = { store, responses: responses.responses, batchSize, batchDelayMs: 0, batchesAtOnce, anonymiseAll: undefined, newId: () => newId(), log: createLog('error') };
      const { signal } = new AbortController();
      const conclusion = await analyse(deps, { job, type, survey: withQuestions, provider, signal }).catch(async (error: unknown) => {
        await real.fail(job, { code: 'INTERNAL_ERROR', message: 'failed' });
        throw error;
      });
      assert.deepEqual(getEventListeners(signal, 'abort'), [], 'what the calls of a long job leave behind would grow with it');
      await real.complete(job, conclusion);
      return conclusion;
    };
    return { id: survey.id, add, run, asked, real, scope: { surveyId: survey.id, topic: `${type}/test` } };
  };

  it('asks for the counts of its themes once, and for a name once, however many batches there are', async () => {
    const { add, run, asked, real, scope } = await openSurvey('themes', 10);
    ai.answer = (call) => ('same' in call.schema.properties ? { same: [] } : { answers: dataOf(call).answers.map(({ n, text }: any) => ({ n, sentiment: 'neutral', themes: [text.split('|')[1]] })) });
    await add(Array.from({ length: 1000 }, (_, n) => `answer ${n} |Topic ${'abcde'[n % 5]}`));
    await run();
    assert.equal(ai.calls.length, 101);
    // Once at the start; what was found and what stays, for the merging.
    assert.deepEqual([asked.get('themeCounts'), asked.get('themes'), asked.get('nameThemes')], [3, undefined, 100]);
    const named = await postgres.sql<{ calls: number }[]>`SELECT count(*) AS calls FROM ai_themes WHERE survey_id = ${scope.surveyId}`;
    assert.equal(named[0]?.calls, 5);
    assert.deepEqual((await real.themes(scope, 10)).map(({ name, count }) => [name, count]), [...'abcde'].map((letter) => [`Topic ${letter}`, 200]));
    assert.deepEqual(ai.calls.slice(1, 100).map((call) => dataOf(call).knownThemes.length), Array.from({ length: 99 }, () => 5));
  });

  for (const atOnce of [1, 4])
    it(`has ${atOnce} of its calls under way at a time where that is set, and counts all the same`, async () => {
      const { add, run, real, scope } = await openSurvey('themes', 10, atOnce);
      let [ended, most] = [0, 0];
      ai.delayMs = 30;
      ai.answer = (call) => {
        most = Math.max(most, ai.calls.length - ended++);
        return 'same' in call.schema.properties ? { same: [] } : { answers: dataOf(call).answers.map(({ n, text }: any) => ({ n, sentiment: 'neutral', themes: [text.split('|')[1]] })) };
      };
      await add(Array.from({ length: 200 }, (_, n) => `answer ${n} |Topic ${'abcde'[n % 5]}${n % 2 ? '!' : ''}`));
      await run();
      assert.deepEqual([most, ai.calls.length], [atOnce, 21]);
      assert.deepEqual((await real.themes(scope, 10)).map(({ count }) => count), [40, 40, 40, 40, 40]);
    });

  it('ends with the first call that fails, and sends only what was not stored the next time', async () => {
    const { add, run } = await openSurvey('sentiment', 10, 4);
    ai.answer = (call) => ({ answers: dataOf(call).answers.map(({ n }: any) => ({ n, sentiment: 'neutral' })) });
    await add(Array.from({ length: 200 }, (_, n) => `answer ${n}`));
    // The failure comes at once, the calls beside it take a while.
    ai.delayMs = 30;
    ai.faults.push({ status: 401 });
    await assert.rejects(run(), { code: 'AI_KEY_INVALID' });
    const before = ai.calls.length;
    assert.ok(before <= 5, `${before} calls`);
    await run();
    const stored = before - 1;
    assert.ok(ai.calls.length >= 20 - stored && ai.calls.length <= 20, `${ai.calls.length} calls`);
  });

  it('sends new answers in full batches, however thinly they lie among the known', async () => {
    const { add, run, asked } = await openSurvey('sentiment', 10);
    ai.answer = (call) => ({ answers: dataOf(call).answers.map(({ n }: any) => ({ n, sentiment: 'neutral' })) });
    await add(Array.from({ length: 400 }, (_, n) => `answer ${n}`));
    await run();
    const [oldest] = await postgres.sql<{ id: string }[]>`SELECT response_id AS id FROM ai_findings WHERE topic = 'sentiment/test' LIMIT 1`;
    assert.ok(oldest);
    // Every twentieth is forgotten, as if it had changed.
    await postgres.sql`DELETE FROM ai_findings WHERE topic = 'sentiment/test' AND response_id IN (SELECT response_id FROM (SELECT response_id, row_number() OVER (ORDER BY response_id) AS place FROM ai_findings WHERE topic = 'sentiment/test') placed WHERE place % 20 = 0)`;
    await run();
    assert.deepEqual(ai.calls.map((call) => dataOf(call).answers.length), [10, 10]);
    assert.equal(asked.get('digests'), 1);
  });

  it('sums notes up forty at a time, and asks only for the last branches when more come', async () => {
    const { add, run } = await openSurvey('summary', 1);
    const sizes = () => ai.calls.filter((call) => 'summary' in call.schema.properties).map((call) => dataOf(call).notes.length);
    ai.answer = (call) => ('note' in call.schema.properties ? { note: `note on ${dataOf(call).answers[0].text}` } : { summary: `of ${dataOf(call).notes.length}: ${dataOf(call).notes[0]}`, insights: [], recommendations: [] });
    await add(Array.from({ length: 100 }, (_, n) => `answer ${n}`));
    const first = await run();
    assert.deepEqual(sizes(), [40, 40, 20, 3]);
    assert.match(first?.conclusion.summary ?? '', /^of 3: of 40: note on answer 0$/);
    assert.deepEqual(await run(), first);
    assert.equal(ai.calls.length, 0);
    await add(['one more']);
    await run();
    assert.deepEqual(sizes(), [21, 3]);
    assert.equal(ai.calls.length, 3);
  });

  it('takes no note of answers that are gone, nor keeps one that only they had', async () => {
    const { add, run, id } = await openSurvey('summary', 2);
    ai.answer = (call) => ('note' in call.schema.properties ? { note: dataOf(call).answers.map(({ text }: any) => text).join(' and ') } : { summary: dataOf(call).notes.join(', '), insights: [], recommendations: [] });
    await add(['one', 'two', 'three', 'four']);
    assert.equal((await run())?.conclusion.summary, 'one and two, three and four');
    const rows = await postgres.sql<{ id: string; note: string }[]>`SELECT response_id AS id, note FROM ai_findings JOIN ai_notes ON ai_notes.id = note_id WHERE ai_notes.survey_id = ${id} ORDER BY note DESC`;
    assert.equal(rows.length, 4);
    const remaining = async () => (await postgres.sql<{ note: string }[]>`SELECT note FROM ai_notes WHERE survey_id = ${id} ORDER BY note`).map(({ note }) => note);
    await createAiFindingRows(postgres.sql).removeOfResponses([rows[0]?.id ?? '']);
    assert.deepEqual(await remaining(), ['one and two', 'three and four'], 'another answer bears it');
    await createAiFindingRows(postgres.sql).removeOfResponses([rows[0]?.id ?? '', rows[1]?.id ?? '']);
    assert.equal((await remaining()).length, 1);
  });
});
