import Anthropic from '@anthropic-ai/sdk';
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import type { DeferredRequestInit } from './bounded-fetch.ts';
import { effortOf } from './models.ts';
import { type ProviderOptions, withoutSdkTimeout } from './openai.ts';
import { type Completion, type CompletionRequest, countOf, type Provider, RefusedReply } from './provider.ts';
import { callFailure } from './provider-errors.ts';
import { readEvents, streamHeaders, withStreamTimeout } from './streamed-reply.ts';

/** Provider B. */
export function createAnthropic({ apiKey, baseUrl, models, timeoutMs, fetch }: ProviderOptions): Provider {
  const client = new Anthropic({
    apiKey,
    authToken: null,
    baseURL: baseUrl ?? null,
    maxRetries: 0,
    ...withoutSdkTimeout(timeoutMs),
    logLevel: 'off',
    fetch,
  });
  return {
    name: 'anthropic',
    models,
    async complete(request) {
      if (request.wrote) await request.begin?.();
      const bounded = withStreamTimeout(request, timeoutMs);
      try {
        return await (bounded.wrote ? completeStreamed(client, bounded, bounded.wrote) : complete(client, bounded));
      } catch (error) {
        throw callFailure(error, bounded.signal);
      }
    },
  };
}

function paramsOf({ model, system, turns, schema, maxOutputTokens }: CompletionRequest) {
  const effort = effortOf(model);
  return {
    model,
    max_tokens: maxOutputTokens,
    system,
    messages: turns.map(({ role, text }) => ({ role, content: text })),
    // This provider takes fewer keywords; the SDK moves the others into descriptions.
    output_config: {
      format: { type: 'json_schema' as const, schema: transformJSONSchema({ ...schema }) },
      ...(effort === 'low' && { effort }),
    },
  };
}

async function complete(client: Anthropic, request: CompletionRequest): Promise<Completion> {
  const fetchOptions: DeferredRequestInit = { begin: request.begin };
  const reply = await client.messages.create(paramsOf(request), { signal: request.signal, fetchOptions });
  const tokens = { inputTokens: countOf(reply.usage?.input_tokens), outputTokens: countOf(reply.usage?.output_tokens) };
  if (reply.stop_reason === 'refusal') throw new RefusedReply(tokens);
  const text = (reply.content ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');
  return { text, ...tokens };
}

/** The same, told as it is written. */
async function completeStreamed(
  client: Anthropic,
  request: CompletionRequest,
  wrote: (piece: string) => void,
): Promise<Completion> {
  const { signal } = request;
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
      wrote(event.delta.text);
    }
    if (event.type === 'message_delta') {
      // Each gives the sum so far.
      tokens.outputTokens = countOf(event.usage?.output_tokens);
      isRefused ||= event.delta?.stop_reason === 'refusal';
    }
    return event.type === 'message_stop';
  });
  if (isRefused) throw new RefusedReply(tokens);
  return { text, ...tokens };
}
