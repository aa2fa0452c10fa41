import { createLog } from '../../src/log.ts';
import { startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { adminClient, type Client } from '../../test/support/client.ts';
import { startService } from '../../test/support/service.ts';

export interface BenchSurvey {
  id: string;
  answers: Record<string, unknown>[];
  questions: { id: string }[];
}

export interface Visibility {
  p95Ms: number;
  samples: number;
}

export interface BenchService {
  port: number;
  pid: number;
  redisPid: number;
  client: Client;
  peerDatabaseUrl: string;
  clickhouseUrl: string;
  makeSurvey(options: { quota: number }): Promise<BenchSurvey>;
  /** The same with 20 conditions, 5 skips and 50 quotas by cell, none of which the answers meet with a limit. */
  makeBranchedSurvey(options: { quota: number }): Promise<BenchSurvey>;
  /** `probe`: a survey of the same shard without other submissions. */
  watchVisibility(probe: BenchSurvey): { stop(): Promise<Visibility> };
  waitForStored(surveyId: string, expected: number): Promise<number>;
  stop(): Promise<void>;
}

/** The service over embedded stores in a fresh data directory, as `npm start` starts them. */
export async function startBenchService(dataDir: string, env: Record<string, string> = {}): Promise<BenchService> {
  const needed = { redis: true, redisJobs: true, postgres: true, clickhouse: true };
  const stores = await startEmbeddedStores({ dataDir, needed, log: createLog('warn'), env: process.env });
  const { redisUrl = '', redisJobsUrl = '', databaseUrl = '', clickhouseUrl = '' } = stores;
  const urls = {
    REDIS_URL: redisUrl,
    REDIS_JOBS_URL: redisJobsUrl,
    DATABASE_URL: databaseUrl,
    CLICKHOUSE_URL: clickhouseUrl,
  };
  const service = await startService({
    dataDir,
    env: { ...urls, LOG_LEVEL: 'warn', ACCESS_TOKEN_TTL_SECONDS: '86400', ...env },
  });
  const client = await adminClient(service);
  return {
    port: service.port,
    pid: service.pid,
    redisPid: stores.pid('redis') ?? 0,
    client,
    peerDatabaseUrl: databaseUrl,
    clickhouseUrl,
    makeSurvey: (options) => makeSurvey(client, options),
    makeBranchedSurvey: (options) => makeBranchedSurvey(client, options),
    watchVisibility: (probe) => watchVisibility(client, probe),
    waitForStored: (surveyId, expected) => waitForStored(client, surveyId, expected),
    stop: async () => {
      await service.stop();
      await stores.stop();
    },
  };
}

/** Ten questions of the usual types, published, with one set of valid answers. */
async function makeSurvey(client: Client, { quota }: { quota: number }): Promise<BenchSurvey> {
  const survey = await client.create('/surveys', { title: 'Bench', responseQuota: quota });
  const add = (body: object) => client.create(`/surveys/${survey.id}/questions`, body);
  const choices = ['a', 'b', 'c', 'd', 'e'].map((text) => ({ text }));
  const answers: Record<string, unknown>[] = [];
  const questions: { id: string }[] = [];
  for (let n = 0; n < 4; n += 1) {
    const question = await add({ type: 'MULTIPLE_CHOICE', text: `Choice ${n}`, isRequired: true, options: choices });
    questions.push(question);
    answers.push({ questionId: question.id, optionId: question.options[n].id });
  }
  for (const [type, value] of [
    ['RATING_SCALE', 4],
    ['NPS', 9],
    ['RATING_SCALE', 2],
  ] as const) {
    const question = await add({ type, text: type, isRequired: true });
    questions.push(question);
    answers.push({ questionId: question.id, numberValue: value });
  }
  const checkboxes = await add({ type: 'CHECKBOXES', text: 'Several', options: choices });
  answers.push(
    { questionId: checkboxes.id, optionId: checkboxes.options[0].id },
    { questionId: checkboxes.id, optionId: checkboxes.options[3].id },
  );
  const yesNo = await add({ type: 'YES_NO', text: 'Yes or no' });
  answers.push({ questionId: yesNo.id, optionId: yesNo.options[0].id });
  const text = await add({ type: 'SHORT_TEXT', text: 'A word' });
  answers.push({ questionId: text.id, textValue: 'everything was as it should be' });
  questions.push(checkboxes, yesNo, text);
  await client.post(`/surveys/${survey.id}/publish`);
  return { id: survey.id, answers, questions };
}

/** Every question after the second is asked under two conditions, and the last five are skipped under one each. */
async function makeBranchedSurvey(client: Client, options: { quota: number }): Promise<BenchSurvey> {
  const survey = await makeSurvey(client, options);
  const { questions } = await client.get(`/surveys/${survey.id}`);
  const [first, second] = questions;
  const chose = (question: any, index: number) => ({
    questionId: question.id,
    operator: 'isAnyOf',
    optionIds: [question.options[index].id],
  });
  for (const [index, question] of questions.entries())
    if (index >= 2)
      await client.put(`/surveys/questions/${question.id}`, {
        visibleIf: {
          any: [chose(first, 0), { all: [chose(second, 1), { questionId: first.id, operator: 'answered' }] }],
        },
        ...(index >= 4 && index < 9 && { skips: [{ if: { not: chose(first, 0) }, to: 'END' }] }),
      });
  const yesNo = questions.find(({ type }: { type: string }) => type === 'YES_NO');
  const questionIds = [first.id, second.id, yesNo.id];
  await client.create(`/surveys/${survey.id}/quotas/grid`, { questionIds, limit: 1_000_000_000 });
  return survey;
}

/**
 * Analytics are asked for first after so long and then at this pace, since asking costs the machine as much as a
 * thousand submissions.
 */
const firstLookMs = 450;
const looksEveryMs = 150;

/**
 * Keeps submitting to a quiet survey of the same shard, one at a time, and times how long its analytics take to show
 * each: never too short.
 */
function watchVisibility(client: Client, probe: BenchSurvey) {
  let isStopping = false;
  const times: number[] = [];
  const run = async () => {
    for (let count = 1; !isStopping; count += 1) {
      const startedAt = performance.now();
      const reply = await client.submit(probe.id, { answers: probe.answers });
      if (reply.status !== 201) throw new Error(`a probe was refused with ${reply.status}`);
      await new Promise((resolve) => setTimeout(resolve, firstLookMs));
      await waitForStored(client, probe.id, count);
      times.push(performance.now() - startedAt);
    }
  };
  const done = run();
  return {
    async stop(): Promise<Visibility> {
      isStopping = true;
      await done;
      times.sort((a, b) => a - b);
      return { p95Ms: Math.round(times[Math.floor(times.length * 0.95)] ?? 0), samples: times.length };
    },
  };
}

/** Polls analytics until it counts as many responses, at most a minute; gives the last count. */
export async function waitForStored(client: Client, surveyId: string, expected: number): Promise<number> {
  const until = Date.now() + 60_000;
  for (;;) {
    const { totalResponses } = await client.get(`/analytics/surveys/${surveyId}`);
    if (totalResponses >= expected || Date.now() > until) return totalResponses;
    await new Promise((resolve) => setTimeout(resolve, looksEveryMs));
  }
}
