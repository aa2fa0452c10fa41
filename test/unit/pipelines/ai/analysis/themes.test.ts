import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Provider } from '../../../../../src/ai/providers/provider.ts';
import { Problem, type ProblemCode } from '../../../../../src/errors.ts';
import { mergeThemes, type ThemesDeps } from '../../../../../src/pipelines/ai/analysis/themes.ts';
import type { SurveyJob } from '../../../../../src/stores/postgres/ai/jobs.ts';

/** The end of an analysis whose provider fails so; `done` holds the calls of the store. */
async function merged(code: ProblemCode): Promise<string[]> {
  const done: string[] = [];
  const store = {
    themeCounts: async (_scope: unknown, { isSettled }: { isSettled?: boolean }) =>
      isSettled
        ? []
        : [
            { name: 'Food', count: 2 },
            { name: 'Meals', count: 1 },
          ],
    mergeThemes: async () => void done.push('merged'),
    settleThemes: async () => void done.push('settled'),
    dropUnusedThemes: async () => undefined,
  } as unknown as ThemesDeps['store'];
  const provider: Provider = {
    name: 'openai',
    models: { high: 'large', low: 'small' },
    complete: async () => Promise.reject(new Problem(code)),
  };
  const job = { id: 'job', surveyId: 'survey', topic: 'themes' } as unknown as SurveyJob;
  await mergeThemes(
    { store, log: { warn: () => undefined } as unknown as ThemesDeps['log'] },
    { job, provider, signal: new AbortController().signal, confirmClaim: async () => undefined },
  );
  return done;
}

describe('the merging of themes', () => {
  it('leaves names apart and unsettled where the provider breaks down or is at its limit', async () => {
    for (const code of ['AI_PROVIDER_ERROR', 'AI_RATE_LIMITED'] as const) assert.deepEqual(await merged(code), []);
  });

  it('ends the analysis where AI is off for the survey, or the key or the model does not work', async () => {
    for (const code of ['AI_DISABLED', 'AI_KEY_INVALID', 'AI_MODEL_UNAVAILABLE', 'AI_NOT_CONFIGURED'] as const)
      await assert.rejects(merged(code), { code });
  });
});
