import Anthropic from '@anthropic-ai/sdk';
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import { effortOf } from './models.ts';
import type { ProviderOptions } from './openai.ts';
import { type Completion, type CompletionRequest, countOf, type Provider, RefusedReply } from './provider.ts';
import { callFailure } from './provider-errors.ts';
import { readEvents, streamHeaders, withStreamTimeout } from './streamed-reply.ts';

/** Anthropic, through its Messages API. */
export function createAnthropic({ apiKey, baseUrl, models, timeoutMs, fetch }: ProviderOptions): Provider {
  const client = new Anthropic({
    apiKey,
    authToken: null,
    baseURL: baseUrl ?? null,
    maxRetries: 0,
    timeout: timeoutMs,
    logLevel: 'off',
    fetch,
  });
  return {
    name: 'anthropic',
    models,
    complete: (request) =>
      withStreamTimeout(request, timeoutMs, async (bounded) => {
        try {
          return await (bounded.onText ? completeStreamed(client, bounded, bounded.onText) : complete(client, bounded));
        } catch (error) {
          throw callFailure(error, bounded.signal);
        }
      }),
  };
}

function paramsOf({ model, system, turns, schema, maxOutputTokens }: CompletionRequest) {
  const effort = effortOf(model);
  return {
    model,
    max_tokens: maxOutputTokens,
    system,
    messages: turns.map(({ role, text }) => ({ role, content: text })),
    // Anthropic supports fewer keywords of JSON Schema; the SDK moves the others into descriptions.
    output_config: {
      format: { type: 'json_schema' as const, schema: transformJSONSchema({ ...schema }) },
      ...(effort === 'low' && { effort }),
    },
  };
}

async function complete(client: Anthropic, request: CompletionRequest): Promise<Completion> {
  const reply = await client.messages.create(paramsOf(request), { signal: request.signal });
  const tokens = { inputTokens: countOf(reply.usage?.input_tokens), outputTokens: countOf(reply.usage?.output_tokens) };
  request.onTokens?.(tokens);
  if (reply.stop_reason === 'refusal') throw new RefusedReply();
  const text = (reply.content ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');
  return { text, ...tokens };
}

/** The same, with the reply streamed. */
async function completeStreamed(
  client: Anthropic,
  request: CompletionRequest,
  onText: (piece: string) => void,
): Promise<Completion> {
  const { signal, onTokens } = request;
  const events = await client.messages.create(
    { ...paramsOf(request), stream: true },
    { signal, headers: streamHeaders },
  );
  let [text, isRefused] = ['', false];
  const tokens = { inputTokens: 0, outputTokens: 0 };
  await readEvents(events, signal, (event) => {
    if (event.type === 'message_start') tokens.inputTokens = countOf(event.message?.usage?.input_tokens);
    if (event.type === 'content_block_delta' && event.delta?.type === 'text_delta') {
      text += event.delta.text;
      onText(event.delta.text);
    }
    if (event.type === 'message_delta') {
      // Each event holds the total so far.
      tokens.outputTokens = countOf(event.usage?.output_tokens);
      isRefused ||= event.delta?.stop_reason === 'refusal';
    }
    onTokens?.({ ...tokens });
    return event.type === 'message_stop';
  });
  if (isRefused) throw new RefusedReply();
  return { text, ...tokens };
}
