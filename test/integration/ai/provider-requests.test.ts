import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type {
  MessageCreateParamsNonStreaming,
  MessageCreateParamsStreaming,
} from '@anthropic-ai/sdk/resources/messages';
import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionCreateParamsStreaming,
} from 'openai/resources/chat/completions';
import { createAnthropic } from '../../../src/ai/providers/anthropic.ts';
import { createAzure, createGemini, createOpenAi, type ProviderOptions } from '../../../src/ai/providers/openai.ts';
import type { CompletionRequest, Provider } from '../../../src/ai/providers/provider.ts';

const schema = {
  type: 'object',
  properties: { word: { type: 'string' } },
  required: ['word'],
  additionalProperties: false,
};
const asked = {
  system: 'Say a word.',
  turns: [{ role: 'user', text: '{"say":"hello"}' }],
  schemaName: 'test',
  schema,
  maxOutputTokens: 300,
} as const;
const messages = [
  { role: 'system', content: 'Say a word.' },
  { role: 'user', content: '{"say":"hello"}' },
] as const;
const response_format = { type: 'json_schema', json_schema: { name: 'test', schema, strict: true } } as const;
const chatReply = {
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '{"word":"hi"}' } }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

interface Sent {
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

/** Sends one call; returns its request and the parsed reply, with `onText` as a list of events. */
async function call(
  make: (options: ProviderOptions) => Provider,
  model: string,
  reply: unknown,
  onText?: CompletionRequest['onText'],
): Promise<{ sent: Sent; read: Awaited<ReturnType<Provider['complete']>> }> {
  const sent: Sent[] = [];
  const fetch: ProviderOptions['fetch'] = async (input, init) => {
    sent.push({
      url: String(input),
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: JSON.parse(String(init?.body)),
    });
    return onText
      ? new Response(eventsOf(reply as object[]), { headers: { 'content-type': 'text/event-stream' } })
      : Response.json(reply);
  };
  const request: CompletionRequest = {
    ...asked,
    model,
    signal: new AbortController().signal,
    ...(onText && { onText }),
  };
  const read = await make({ apiKey: 'key-1', models: { high: model, low: model }, timeoutMs: 1000, fetch }).complete(
    request,
  );
  assert.equal(sent.length, 1);
  return { sent: sent[0] as Sent, read };
}

const eventsOf = (events: readonly object[]): string =>
  events
    .map((event) => `${'type' in event ? `event: ${String(event.type)}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('');
const delta = (content: string, rest: object = {}) => ({
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...rest,
});
const stopped = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

describe('what is sent to a provider', () => {
  it('is a chat completion for OpenAI, with the least reasoning effort of its model', async () => {
    const { sent, read } = await call(createOpenAi, 'gpt-5.6-luna', chatReply);
    assert.equal(sent.url, 'https://api.openai.com/v1/chat/completions');
    assert.equal(sent.headers['authorization'], 'Bearer key-1');
    const body: ChatCompletionCreateParamsNonStreaming = {
      model: 'gpt-5.6-luna',
      messages: [...messages],
      response_format,
      max_completion_tokens: 300,
      reasoning_effort: 'none',
    };
    assert.deepEqual(sent.body, body);
    assert.deepEqual(read, { text: '{"word":"hi"}', inputTokens: 10, outputTokens: 5 });
  });

  it('has no reasoning effort for an unknown model', async () => {
    const { sent } = await call(createOpenAi, 'my-own-model', chatReply);
    assert.deepEqual(sent.body, { model: 'my-own-model', messages, response_format, max_completion_tokens: 300 });
  });

  it('is a chat completion for Gemini, whose thinking tokens are counted with the reply', async () => {
    const { sent, read } = await call(createGemini, 'gemini-3.8-flash', {
      ...chatReply,
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 95 },
    });
    assert.equal(sent.url, 'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions');
    assert.equal(sent.headers['authorization'], 'Bearer key-1');
    const body: ChatCompletionCreateParamsNonStreaming = {
      model: 'gemini-3.8-flash',
      messages: [...messages],
      response_format,
      max_tokens: 300,
      reasoning_effort: 'low',
    };
    assert.deepEqual(sent.body, body);
    assert.deepEqual([read.inputTokens, read.outputTokens], [10, 85]);
  });

  it('is a chat completion for the deployment at Azure, with an API version and the key in its own header', async () => {
    const make = (options: ProviderOptions) =>
      createAzure({ ...options, endpoint: 'https://contoso.openai.azure.com/', deployment: 'surveys' });
    const { sent } = await call(make, 'gpt-5.6-terra', chatReply);
    assert.equal(
      sent.url,
      'https://contoso.openai.azure.com/openai/deployments/surveys/chat/completions?api-version=2024-10-21',
    );
    assert.deepEqual([sent.headers['api-key'], sent.headers['authorization']], ['key-1', undefined]);
    const body: ChatCompletionCreateParamsNonStreaming = {
      model: 'gpt-5.6-terra',
      messages: [...messages],
      response_format,
      max_completion_tokens: 300,
    };
    assert.deepEqual(sent.body, body);
  });

  it('is a message for Anthropic, with a version and a maximum of tokens; thinking is no part of the reply', async () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'text', text: '{"word":' },
      { type: 'text', text: '"hi"}' },
    ];
    const { sent, read } = await call(createAnthropic, 'claude-sonnet-5-5', {
      content,
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 25 },
    });
    assert.equal(sent.url, 'https://api.anthropic.com/v1/messages');
    assert.match(sent.headers['anthropic-version'] ?? '', /^\d{4}-\d\d-\d\d$/);
    assert.equal(sent.headers['authorization'], 'Bearer key-1');
    const body: MessageCreateParamsNonStreaming = {
      model: 'claude-sonnet-5-5',
      max_tokens: 300,
      system: 'Say a word.',
      messages: [{ role: 'user', content: '{"say":"hello"}' }],
      output_config: { format: { type: 'json_schema', schema }, effort: 'low' },
    };
    assert.deepEqual(sent.body, body);
    assert.deepEqual(read, { text: '{"word":"hi"}', inputTokens: 10, outputTokens: 25 });
  });

  it('is the same with options for a stream and its usage, where the reply is streamed', async () => {
    for (const [make, usage, outputTokens] of [
      [createOpenAi, { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }, 5],
      [createGemini, { prompt_tokens: 10, completion_tokens: 5, total_tokens: 95 }, 85],
    ] as const) {
      const pieces: string[] = [];
      const { sent, read } = await call(
        make,
        'my-own-model',
        [
          delta('{"word":', { usage: null }),
          delta('"hi"}', { usage: make === createGemini ? usage : null }),
          stopped,
          { choices: [], usage },
        ],
        (piece) => void pieces.push(piece),
      );
      const most = make === createGemini ? { max_tokens: 300 } : { max_completion_tokens: 300 };
      const body: ChatCompletionCreateParamsStreaming = {
        model: 'my-own-model',
        messages: [...messages],
        response_format,
        ...most,
        stream: true,
        stream_options: { include_usage: true },
      };
      assert.deepEqual([sent.body, sent.headers['accept']], [body, 'text/event-stream']);
      assert.deepEqual(
        [pieces, read],
        [['{"word":', '"hi"}'], { text: '{"word":"hi"}', inputTokens: 10, outputTokens }],
      );
    }
  });

  it('is a message for Anthropic whose thinking is not streamed either', async () => {
    const pieces: string[] = [];
    const thought = [
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
    ];
    const said = ['{"word":', '"hi"}'].map((text, index) => ({
      type: 'content_block_delta',
      index: index + 1,
      delta: { type: 'text_delta', text },
    }));
    const events = [
      { type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } },
      ...thought,
      { type: 'ping' },
      ...said,
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 25 } },
      { type: 'message_stop' },
    ];
    const { sent, read } = await call(createAnthropic, 'my-own-model', events, (piece) => void pieces.push(piece));
    const body: MessageCreateParamsStreaming = {
      model: 'my-own-model',
      max_tokens: 300,
      system: 'Say a word.',
      messages: [{ role: 'user', content: '{"say":"hello"}' }],
      output_config: { format: { type: 'json_schema', schema } },
      stream: true,
    };
    assert.deepEqual([sent.body, sent.headers['accept']], [body, 'text/event-stream']);
    assert.deepEqual(
      [pieces, read],
      [['{"word":', '"hi"}'], { text: '{"word":"hi"}', inputTokens: 10, outputTokens: 25 }],
    );
  });
});
