import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import type { Provider } from '../../../../src/ai/providers/provider.ts';
import { createReplyCache } from '../../../../src/ai/providers/reply-cache.ts';
import { analysisTasks, summaryTask } from '../../../../src/ai/tasks/analyse-answers.ts';
import { ask, type Task } from '../../../../src/ai/tasks/ask.ts';
import { mergeThemesTask } from '../../../../src/ai/tasks/merge-themes.ts';
import { type ReportBasis, reportTask } from '../../../../src/ai/tasks/report.ts';
import { createLog } from '../../../../src/log.ts';
import { blankSurvey } from '../../../support/questions.ts';

const yearSeconds = 365 * 86_400;
const answers = [{ question: 'Well?', text: 'A head nurse on ward 7 writes' }];
const basis = {
  survey: blankSurvey(),
  head: { totalResponses: 1, completeResponses: 1, completionRate: 1, averageDuration: null },
  figures: [],
  themes: [],
  summary: undefined,
} as unknown as ReportBasis;
const translation: Task<unknown> = {
  name: 'translate',
  version: 1,
  tier: 'high',
  system: 's',
  data: {},
  schema: z.object({}),
  read: (value) => ({ value }),
  maxOutputTokens: 10,
};

/** How often an equal question is asked of two, and the lifetimes in seconds of what Redis holds then. */
async function askedTwice(task: Task<unknown>, reply: unknown) {
  const stored = new Map<string, string>();
  const lifetimes: number[] = [];
  let calls = 0;
  const redis = {
    get: async (key: string) => stored.get(key) ?? null,
    set: async (key: string, text: string, _: 'EX', seconds: number) => {
      stored.set(key, text);
      lifetimes.push(seconds);
      return 'OK';
    },
  };
  const provider: Provider = {
    name: 'openai',
    models: { high: 'h', low: 'l' },
    replyCache: createReplyCache({ redis: redis as never, ttlSeconds: yearSeconds, log: createLog('silent') }),
    complete: async () => {
      calls += 1;
      return { text: JSON.stringify(reply), inputTokens: 1, outputTokens: 1 };
    },
  };
  for (let time = 0; time < 2; time += 1) await ask(provider, task, new AbortController().signal);
  return { calls, lifetimes };
}

describe('the cache of AI replies', () => {
  it('holds nothing of analyses, whose replies repeat what respondents wrote', async () => {
    const summary = { summary: 'A nurse writes', insights: [], recommendations: [] };
    for (const [task, reply] of [
      [analysisTasks.sentiment(answers, []), { answers: [{ n: 1, sentiment: 'neutral' }] }],
      [analysisTasks.themes(answers, []), { answers: [{ n: 1, sentiment: 'neutral', themes: ['Ward 7'] }] }],
      [analysisTasks.summary(answers, []), { note: 'A head nurse on ward 7 writes' }],
      [summaryTask('Ward', ['A head nurse on ward 7 writes']), summary],
      [mergeThemesTask({ settled: ['Ward 7'], fresh: ['Seventh ward'] }), { same: [] }],
    ] as [Task<unknown>, unknown][])
      assert.deepEqual(await askedTwice(task, reply), { calls: 2, lifetimes: [] }, task.name);
  });

  it('holds a report, which tells of them, for a day at most, and what authors wrote as long as it is set', async () => {
    const report = { title: 'Ward', sections: [{ heading: 'All', text: 'Well', questions: [] }] };
    const task = reportTask(basis, { hasRecommendations: false, language: 'en' });
    assert.deepEqual(await askedTwice(task, report), { calls: 1, lifetimes: [86_400] });
    assert.deepEqual(await askedTwice(translation, {}), { calls: 1, lifetimes: [yearSeconds] });
  });
});
