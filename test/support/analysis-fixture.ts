import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { createBoundedFetch } from '../../src/ai/providers/bounded-fetch.ts';
import { createOpenAi } from '../../src/ai/providers/openai.ts';
import type { AnalysisType, StoredSummary } from '../../src/ai/tasks/analyse-answers.ts';
import { blankSurvey } from '../../src/domain/blank-survey.ts';
import type { Question, SurveyWithQuestions } from '../../src/domain/survey.ts';
import { createLog } from '../../src/log.ts';
import { type AnalyseDeps, analyseAnswers } from '../../src/pipelines/ai/analysis/analyse-answers.ts';
import { newId } from '../../src/platform/ids.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import { createResponseStore } from '../../src/stores/clickhouse/responses.ts';
import { type AiStore, createAiStore, type SurveyJob } from '../../src/stores/postgres/ai/jobs.ts';
import { createSurveyStore } from '../../src/stores/postgres/surveys.ts';
import { createUnsavedReplies, type UnsavedReplies } from '../../src/stores/redis/ai/unsaved-replies.ts';
import { type SeenCall, standInKey, startAiProvider } from './ai-provider.ts';
import { freshDatabase } from './auth-server.ts';
import { openPatientRedis } from './patient-redis.ts';
import { givenStart, openResponseDatabase, responseLine } from './response-database.ts';
import { sharedStores } from './stores.ts';

/** The material that a call sent. */
export const dataOf = ({ user }: SeenCall): any => JSON.parse(user[0] ?? '{}');

export const textsOf = (call: SeenCall): string[] => dataOf(call).answers.map(({ text }: { text: string }) => text);
export const answersOf = (count: number): string[] => Array.from({ length: count }, (_, n) => `answer ${n}`);

/** The error of a database that is away. */
export const connectionRefused = (): Error =>
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

export interface AnalysedSurveyOptions {
  type: AnalysisType;
  batchSize: number;
  batchesAtOnce?: number;
  anonymiseAll?: AnalyseDeps['anonymiseAll'];
  /** Replaces methods of the store. */
  store?: Partial<AiStore>;
  /** Replaces the reading from ClickHouse. */
  select?: (real: ClickHouse['select']) => ClickHouse['select'];
  /** Replaces methods of the store of unsaved replies. */
  unsavedReplies?: Partial<UnsavedReplies>;
}

/** Real stores and a simulated provider, for analyses without a service around them. */
export async function openAnalysisFixture() {
  const ownerId = newId();
  const postgres = await freshDatabase();
  await postgres.sql`INSERT INTO users ${postgres.sql({ id: ownerId, email: 'a@example.org', email_key: 'a@example.org', password_hash: '-', role: 'EDITOR' })}`;
  const responses = await openResponseDatabase();
  const ai = await startAiProvider();
  const redis = await openPatientRedis((await sharedStores()).redisJobsUrl);
  const unsavedReplies = createUnsavedReplies(redis);

  /** Creates a survey with one open question; `asked` counts the calls of the store by method. */
  const openSurvey = async ({
    type,
    batchSize,
    batchesAtOnce = 1,
    anonymiseAll,
    store: replaced = {},
    select = (real) => real,
    unsavedReplies: replacedReplies = {},
  }: AnalysedSurveyOptions) => {
    const survey = { ...blankSurvey(newId(), ownerId, Date.now()), title: 'Canteen' };
    await createSurveyStore(postgres.sql).create(survey);
    const question = {
      id: newId(),
      type: 'LONG_TEXT',
      text: 'What do you think?',
      isHidden: false,
      options: [],
      rows: [],
      settings: {},
      slots: { codes: { '': 0 }, numbers: {}, texts: { '': 0 } },
    } as unknown as Question;
    const withQuestions = {
      ...survey,
      questions: [question],
      slotCounts: { codes: 1, numbers: 0, texts: 1 },
    } as SurveyWithQuestions;
    const asked = new Map<string, number>();
    const real = createAiStore(postgres.sql);
    const store = new Proxy(real, {
      get(target, name: keyof AiStore & string) {
        asked.set(name, (asked.get(name) ?? 0) + 1);
        return replaced[name] ?? target[name];
      },
    });
    let told = 0;
    /** With a `responseId`, all of them have this one. */
    const add = (
      texts: string[],
      { isEarlier = false, responseId }: { isEarlier?: boolean; responseId?: string } = {},
    ) =>
      responses.store(
        texts.map((text) =>
          responseLine({
            surveyId: survey.id,
            ...(responseId !== undefined && { responseId }),
            submittedAtMs: givenStart + ++told * (isEarlier ? -1 : 1),
            codes: [1],
            texts: [text],
          }),
        ),
      );
    const timeoutMs = 10_000;
    const provider = createOpenAi({
      apiKey: standInKey,
      baseUrl: ai.env['OPENAI_BASE_URL'],
      models: { high: 'large', low: 'small' },
      timeoutMs,
      fetch: createBoundedFetch({ maxReplyBytes: 1024 ** 2, timeoutMs }),
    });
    const run = async ({ jobId = newId() } = {}): Promise<StoredSummary | null> => {
      const job: SurveyJob = {
        id: jobId,
        ownerId,
        surveyId: survey.id,
        topic: `${type}/test`,
        request: { analysisType: type },
        status: 'RUNNING',
        progress: 0,
        error: null,
        claim: null,
        takeovers: 0,
      };
      await postgres.sql`INSERT INTO ai_jobs ${postgres.sql({ id: job.id, owner_id: ownerId, survey_id: survey.id, topic: job.topic, request: postgres.sql.json(job.request), status: 'RUNNING' })}`;
      asked.clear();
      ai.calls.length = 0;
      const deps = {
        store,
        responses: createResponseStore({
          clickhouse: { ...responses.clickhouse, select: select(responses.clickhouse.select) },
        }),
        batchSize,
        batchDelayMs: 0,
        batchesAtOnce,
        anonymiseAll,
        unsavedReplies: { ...unsavedReplies, ...replacedReplies },
        newId: () => newId(),
        log: createLog('error'),
      };
      const { signal } = new AbortController();
      const confirmClaim = async (): Promise<void> => {
        if (!(await real.heartbeat(job, null))) throw new Error('The job was cancelled');
      };
      const conclusion = await analyseAnswers(deps, {
        job,
        type,
        survey: withQuestions,
        provider,
        signal,
        confirmClaim,
      }).catch(async (error: unknown) => {
        await real.fail(job, { code: 'INTERNAL_ERROR', message: 'failed' });
        throw error;
      });
      assert.deepEqual(getEventListeners(signal, 'abort'), [], 'no listener is left on the signal of the job');
      await real.complete(job, conclusion);
      return conclusion;
    };
    return { id: survey.id, add, run, asked, real, scope: { surveyId: survey.id, topic: `${type}/test` } };
  };

  return {
    postgres,
    ai,
    unsavedReplies,
    redis,
    openSurvey,
    /** Restores the provider to its initial state. */
    reset(): void {
      ai.calls.length = 0;
      ai.faults.length = 0;
      ai.faultOf = undefined;
      ai.delayMs = 0;
      ai.holdUntil = undefined;
    },
    async close(): Promise<void> {
      await ai.close();
      await postgres.drop();
      await responses.close();
      redis.disconnect();
    },
  };
}

export type AnalysisFixture = Awaited<ReturnType<typeof openAnalysisFixture>>;
