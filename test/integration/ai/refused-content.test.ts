import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnthropic } from '../../../src/ai/providers/anthropic.ts';
import { createGemini, createOpenAi, type ProviderOptions } from '../../../src/ai/providers/openai.ts';
import type { Provider } from '../../../src/ai/providers/provider.ts';
import { type MeteredAccount, rateLimited, type UsageMeterDeps } from '../../../src/ai/usage.ts';
import { Problem } from '../../../src/errors.ts';
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

/** The usage row of a call that fails, the tokens that it took of the minute's, and its failure. */
async function failed(
  make: (options: ProviderOptions) => Provider,
  model: string,
  { reply, onText }: { reply: Response; onText?: (piece: string) => void },
) {
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
    fetch: async () => reply,
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
    ...(onText && { onText }),
  };
  const error: unknown = await metered.complete(request).catch((error: unknown) => error);
  const [call] = calls;
  return { call, settled, message: error instanceof Problem ? error.message : String(error) };
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
      const { call, settled, message } = await failed(make, model, { reply: Response.json(reply) });
      assert.equal(message, 'The AI provider refused the content');
      assert.deepEqual([call?.isFailed, call?.inputTokens, call?.outputTokens, settled], [true, 900, 40, [940]]);
      assert.ok((call?.costUsd ?? 0) > 0, `${call?.costUsd}`);
    });
});

describe('a streamed reply that breaks off', () => {
  const eventsOf = (events: readonly object[]): Response =>
    new Response(
      events
        .map((event) => `${'type' in event ? `event: ${String(event.type)}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
        .join(''),
      { headers: { 'content-type': 'text/event-stream' } },
    );
  const text = 'a'.repeat(3000);
  const chunk = (counted: object | null) => ({
    choices: [{ index: 0, delta: { content: text }, finish_reason: null }],
    usage: counted,
  });
  const begun = [
    { type: 'message_start', message: { usage: { input_tokens: 900, output_tokens: 1 } } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  ];
  const broken = (make: (options: ProviderOptions) => Provider, model: string, events: readonly object[]) =>
    failed(make, model, { reply: eventsOf(events), onText: () => undefined });

  it('counts as the provider has counted by then, and in the limits by its text too', async () => {
    const { call, settled } = await broken(createAnthropic, 'claude-haiku-5-5', begun);
    assert.deepEqual([call?.isFailed, call?.inputTokens, call?.outputTokens, settled], [true, 900, 0, [1900]]);
    assert.ok((call?.costUsd ?? 0) > 0, `${call?.costUsd}`);
    const gemini = await broken(createGemini, 'gemini-3.8-flash', [
      chunk({ prompt_tokens: 900, completion_tokens: 1200, total_tokens: 2100 }),
    ]);
    assert.deepEqual([gemini.call?.inputTokens, gemini.call?.outputTokens, gemini.settled], [900, 1200, [2100]]);
  });

  it('has no known cost where the provider has counted nothing, unlike a call that is refused by its status', async () => {
    const { call, settled } = await broken(createOpenAi, 'gpt-5.6-luna', [chunk(null)]);
    assert.deepEqual([call?.inputTokens, call?.outputTokens, call?.costUsd], [0, 0, null]);
    assert.ok((settled[0] ?? 0) > 1000, `${settled}`);
    const reply = Response.json({ error: { message: 'too many' } }, { status: 429 });
    assert.equal((await failed(createOpenAi, 'gpt-5.6-luna', { reply })).call?.costUsd, 0);
  });
});
