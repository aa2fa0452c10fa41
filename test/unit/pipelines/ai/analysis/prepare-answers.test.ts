import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { createAnonymiser } from '../../../../../src/ai/privacy/anonymise.ts';
import type { AnonymiseAll } from '../../../../../src/ai/privacy/anonymise-in-worker.ts';
import type { Provider } from '../../../../../src/ai/providers/provider.ts';
import { type AnalysisType, analysisTypes, topicOf } from '../../../../../src/ai/tasks/analyse-answers.ts';
import type { Question, SurveyWithQuestions } from '../../../../../src/domain/survey.ts';
import { Problem } from '../../../../../src/errors.ts';
import { prepareAnswers } from '../../../../../src/pipelines/ai/analysis/prepare-answers.ts';
import { type AiJobsDeps, startAiJobs } from '../../../../../src/pipelines/ai/jobs.ts';

const secret = 'ann.lee@example.org';
const texts = [`first ${secret}`, `second ${secret}`, `third ${secret}`];
const reason = 'Answers could not be made anonymous, so they were not sent';

const working: AnonymiseAll = async (texts) => texts.map(createAnonymiser(() => []));

const broken: Readonly<Record<string, AnonymiseAll>> = {
  // As a library would: with the text in its words.
  'breaks at an answer': async (texts) => {
    throw new TypeError(`cannot read "${texts[2]}"`);
  },
  'cannot be loaded': async () => {
    throw new Error(`no module for ${secret}`);
  },
  'gives back too few': async (texts) => (await working(texts)).slice(1),
};

/** A job on a survey with three answers; records every call of a store and of the provider by its name. */
function scene(analysisType: AnalysisType, anonymiseAll: AiJobsDeps['anonymiseAll']) {
  const called: string[] = [];
  const logged: unknown[] = [];
  const recorder = <T extends object>(known: T) =>
    new Proxy(known, {
      get: (target, name) => Reflect.get(target, name) ?? (async () => void called.push(String(name))),
    });
  const question = {
    id: 'q',
    type: 'LONG_TEXT',
    text: 'Why?',
    isHidden: false,
    options: [],
    rows: [],
    settings: {},
    slots: { codes: { '': 0 }, numbers: {}, texts: { '': 0 } },
  } as unknown as Question;
  const survey = {
    id: 's',
    title: 'Canteen',
    aiEnabled: true,
    questions: [question],
    slotCounts: { codes: 1, numbers: 0, texts: 1 },
  } as unknown as SurveyWithQuestions;
  const failed: unknown[] = [];
  const store = recorder({
    claim: async () => ({
      id: 'j',
      ownerId: 'u',
      surveyId: 's',
      topic: topicOf(analysisType, { provider: 'openai', model: 'l', isAnonymous: true }),
      request: { analysisType, provider: 'openai' },
    }),
    heartbeat: async () => true,
    digests: async () => new Map(),
    markSeen: async () => {},
    themeNames: async () => new Map(),
    themeCounts: async () => [],
    find: async () => undefined,
    fail: async (_id: string, error: unknown) => void failed.push(error),
  });
  async function* stream() {
    for (const [index, text] of texts.entries())
      yield { responseId: `r${index}`, row: { codes: [1], numbers: [], texts: [text] } };
  }
  const complete = async (): Promise<never> => {
    called.push('complete');
    throw new Problem('AI_PROVIDER_ERROR');
  };
  const provider = { name: 'openai', models: { high: 'h', low: 'l' }, complete } satisfies Provider;
  const handlers: ((payload: { aiJobId: string }) => Promise<void>)[] = [];
  const keep = (...words: unknown[]) => void logged.push(...words);
  const deps = {
    store,
    batchSize: 50,
    batchDelayMs: 0,
    batchesAtOnce: 1,
    isAnonymising: true,
    anonymiseAll,
    surveys: { load: async () => survey },
    caughtUp: async () => {},
    publishProgress: () => {},
    now: Date.now,
    newId: () => 'n',
    providers: { pick: async () => provider },
    responses: { stream, countBySurvey: async () => new Map() },
    unsavedReplies: recorder({ list: async () => [], remove: async () => {} }),
    annotations: recorder({}),
    workers: { consume: (_queue: string, handler: (typeof handlers)[number]) => void handlers.push(handler) },
    log: { error: keep, warn: keep, info: keep, debug: keep },
  } as unknown as AiJobsDeps;
  startAiJobs(deps);
  return { run: async () => handlers.at(-1)?.({ aiJobId: 'j' }), called, logged, failed };
}

describe('answers that cannot be made anonymous', () => {
  for (const [how, anonymiseAll] of Object.entries(broken))
    for (const analysisType of analysisTypes)
      it(`end ${analysisType} with a clear reason, without a call and with nothing stored, where the anonymiser ${how}`, async () => {
        const { run, called, logged, failed } = scene(analysisType, anonymiseAll);
        await run();
        assert.deepEqual(failed, [{ code: 'INTERNAL_ERROR', message: reason }]);
        assert.deepEqual(called, []);
        assert.match(JSON.stringify(logged), /could not be made anonymous/);
        assert.doesNotMatch(JSON.stringify(logged), /example\.org|ann\.lee/);
      });

  it('would be sent with an anonymiser that works', async () => {
    const { run, called, failed } = scene('sentiment', working);
    await run();
    assert.deepEqual(
      [called, failed],
      [['complete'], [{ code: 'AI_PROVIDER_ERROR', message: 'The AI provider failed' }]],
    );
  });

  it('are not sent unmasked where a job is cancelled meanwhile', async () => {
    const cancelled = new AbortController();
    const anonymiseAll: AnonymiseAll = async () => {
      cancelled.abort(new Error('cancelled'));
      return ['text', 'text'];
    };
    const answer = { responseId: 'r', questionId: 'q', question: 'Why?', text: secret, digest: Buffer.alloc(16) };
    const logged: unknown[] = [];
    await assert.rejects(
      prepareAnswers(
        { anonymiseAll, log: { error: (words: unknown) => void logged.push(words) } },
        [answer, answer],
        cancelled.signal,
      ),
      /cancelled/,
    );
    assert.deepEqual(logged, []);
  });

  it('are not waited for once a job is cancelled', async () => {
    const cancelled = new AbortController();
    const answer = { responseId: 'r', questionId: 'q', question: 'Why?', text: secret, digest: Buffer.alloc(16) };
    const logged: unknown[] = [];
    const deps = {
      anonymiseAll: () => new Promise<never>(() => undefined),
      log: { error: (words: unknown) => void logged.push(words) },
    };
    const begun = prepareAnswers(deps, [answer], cancelled.signal);
    cancelled.abort(new Error('cancelled'));
    await assert.rejects(begun, /cancelled/);
    await assert.rejects(prepareAnswers(deps, [answer], cancelled.signal), /cancelled/);
    assert.deepEqual([logged, getEventListeners(cancelled.signal, 'abort')], [[], []]);
  });
});
