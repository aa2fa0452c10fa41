import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnthropic } from '../../../src/ai/providers/anthropic.ts';
import { createOpenAi, type ProviderOptions } from '../../../src/ai/providers/openai.ts';
import type { Provider } from '../../../src/ai/providers/provider.ts';
import { type MeteredAccount, rateLimited, type UsageMeterDeps } from '../../../src/ai/usage.ts';
import { createLog } from '../../../src/log.ts';
import type { ProviderCallUsage } from '../../../src/stores/postgres/ai/usage.ts';

const usage = { prompt_tokens: 900, completion_tokens: 40, total_tokens: 940 };
const message = {
  type: 'message',
  role: 'assistant',
  content: [],
  stop_reason: 'refusal',
  usage: { input_tokens: 900, output_tokens: 40 },
};

/** The usage row of a call that is refused so, and the tokens that it reserved of the minute's. */
async function refused(make: (options: ProviderOptions) => Provider, model: string, reply: unknown) {
  const calls: ProviderCallUsage[] = [];
  const settled: number[] = [];
  const budget = {
    acquire: async () => 0,
    recordUsage: async (_account: string, { tokens }: { tokens: number }) => void settled.push(tokens),
    pause: async () => undefined,
  } as unknown as UsageMeterDeps['budget'];
  const deps: UsageMeterDeps = {
    budget,
    usage: { record: async (call) => void calls.push(call) },
    surveys: { isEnabled: async () => true },
    maxWaitMs: 0,
    retryOnOutage: (step) => step(),
    newId: () => 'call',
    log: createLog('error'),
  };
  const provider = make({
    apiKey: 'key',
    models: { high: model, low: model },
    timeoutMs: 1000,
    fetch: async () => Response.json(reply),
  });
  const metered = rateLimited(
    provider,
    { account: 'one', allowance: {}, purpose: {} } as unknown as MeteredAccount,
    deps,
  );
  const request = {
    model,
    system: 'Say',
    turns: [],
    schemaName: 'test',
    schema: { type: 'object' },
    maxOutputTokens: 100,
    signal: new AbortController().signal,
  };
  await assert.rejects(metered.complete(request), {
    code: 'AI_PROVIDER_ERROR',
    message: 'The AI provider refused the content',
  });
  return { call: calls[0], settled };
}

describe('a reply that refuses the content', () => {
  const cases: [string, (options: ProviderOptions) => Provider, string, unknown][] = [
    [
      'a filter',
      createOpenAi,
      'gpt-5.6-luna',
      {
        choices: [{ index: 0, finish_reason: 'content_filter', message: { role: 'assistant', content: null } }],
        usage,
      },
    ],
    [
      'a refusal',
      createOpenAi,
      'gpt-5.6-luna',
      {
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: null, refusal: 'No' } }],
        usage,
      },
    ],
    ['a stop', createAnthropic, 'claude-haiku-5-5', message],
  ];
  for (const [name, make, model, reply] of cases)
    it(`is a failed call with its tokens, signalled by ${name}`, async () => {
      const { call, settled } = await refused(make, model, reply);
      assert.deepEqual([call?.isFailed, call?.inputTokens, call?.outputTokens, settled], [true, 900, 40, [940]]);
      assert.ok((call?.costUsd ?? 0) > 0, `${call?.costUsd}`);
    });
});
