import OpenAI, { AzureOpenAI } from 'openai';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import type { ProviderName } from '../../settings/ai-settings.ts';
import { effortOf } from './models.ts';
import {
  type Completion,
  type CompletionRequest,
  countOf,
  type Provider,
  RefusedReply,
  type Tokens,
} from './provider.ts';
import { callFailure } from './provider-errors.ts';
import { readEvents, streamHeaders, withStreamTimeout } from './streamed-reply.ts';

const geminiBaseUrl = 'https://generativelanguage.googleapis.com/v1beta/openai/';
/** The first stable API version that supports JSON schemas. */
const azureApiVersion = '2024-10-21';

export interface ProviderOptions {
  apiKey: string;
  baseUrl?: string | undefined;
  models: Provider['models'];
  /** Time limit of one call, from sending it to the end of the reply. */
  timeoutMs: number;
  fetch: typeof fetch;
}

/** OpenAI, through its Chat Completions API. */
export function createOpenAi({ apiKey, baseUrl, models, timeoutMs, fetch }: ProviderOptions): Provider {
  const client = new OpenAI({
    apiKey,
    baseURL: baseUrl ?? null,
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: timeoutMs,
    logLevel: 'off',
    fetch,
  });
  return chatProvider('openai', client, { models, timeoutMs });
}

/** Google Gemini, through its OpenAI-compatible API. */
export function createGemini({ apiKey, baseUrl = geminiBaseUrl, models, timeoutMs, fetch }: ProviderOptions): Provider {
  const client = new OpenAI({
    apiKey,
    baseURL: baseUrl,
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: timeoutMs,
    logLevel: 'off',
    fetch: unwrapErrorList(fetch),
  });
  return chatProvider('gemini', client, { models, timeoutMs });
}

/** Azure OpenAI. The deployment decides the model, so both tiers are the deployment unless models are configured. */
export function createAzure({
  apiKey,
  endpoint,
  deployment,
  models,
  timeoutMs,
  fetch,
}: Omit<ProviderOptions, 'baseUrl'> & { endpoint: string; deployment: string }): Provider {
  const client = new AzureOpenAI({
    apiKey,
    baseURL: null,
    endpoint,
    deployment,
    apiVersion: azureApiVersion,
    maxRetries: 0,
    timeout: timeoutMs,
    logLevel: 'off',
    fetch,
  });
  return chatProvider('azure', client, { models, timeoutMs });
}

/** Unwraps errors, which Gemini sends as a list of one and the SDK expects as an object. */
function unwrapErrorList(fetch: ProviderOptions['fetch']): ProviderOptions['fetch'] {
  return async (input, init) => {
    const reply = await fetch(input, init);
    if (reply.ok) return reply;
    const text = await reply.text();
    const { status, headers } = reply;
    return new Response((/^\s*\[(.*)\]\s*$/s.exec(text)?.[1] ?? text) || null, { status, headers });
  };
}

function chatProvider(
  name: ProviderName,
  client: OpenAI,
  { models, timeoutMs }: Pick<ProviderOptions, 'models' | 'timeoutMs'>,
): Provider {
  return {
    name,
    models,
    complete: (request) =>
      withStreamTimeout(request, timeoutMs, async (bounded) => {
        const params = paramsOf(name, bounded);
        try {
          return await (bounded.onText
            ? completeStreamed(client, params, { ...bounded, onText: bounded.onText })
            : complete(client, params, bounded));
        } catch (error) {
          throw callFailure(error, bounded.signal);
        }
      }),
  };
}

function paramsOf(
  name: ProviderName,
  { model, system, turns, schemaName, schema, maxOutputTokens }: CompletionRequest,
): ChatCompletionCreateParamsNonStreaming {
  const effort = effortOf(model);
  return {
    model,
    messages: [{ role: 'system', content: system }, ...turns.map(({ role, text }) => ({ role, content: text }))],
    response_format: { type: 'json_schema', json_schema: { name: schemaName, schema: { ...schema }, strict: true } },
    ...(name === 'gemini' ? { max_tokens: maxOutputTokens } : { max_completion_tokens: maxOutputTokens }),
    // The API version used for Azure does not support it.
    ...(name !== 'azure' && effort && { reasoning_effort: effort }),
  };
}

async function complete(
  client: OpenAI,
  params: ChatCompletionCreateParamsNonStreaming,
  { signal, onTokens }: CompletionRequest,
): Promise<Completion> {
  const reply = await client.chat.completions.create(params, { signal });
  const choice = reply.choices?.[0];
  const tokens = tokensOf(reply.usage);
  onTokens?.(tokens);
  if (choice?.finish_reason === 'content_filter' || choice?.message?.refusal) throw new RefusedReply();
  const content: unknown = choice?.message?.content;
  return { text: typeof content === 'string' ? content : '', ...tokens };
}

/** The same, with the reply streamed. */
async function completeStreamed(
  client: OpenAI,
  params: ChatCompletionCreateParamsNonStreaming,
  {
    signal,
    onText,
    onTokens,
  }: Pick<CompletionRequest, 'signal' | 'onTokens'> & Required<Pick<CompletionRequest, 'onText'>>,
): Promise<Completion> {
  const chunks = await client.chat.completions.create(
    { ...params, stream: true, stream_options: { include_usage: true } },
    { signal, headers: streamHeaders },
  );
  let [text, isRefused] = ['', false];
  let usage: CompletionUsage | null | undefined;
  await readEvents(chunks, signal, (chunk) => {
    const choice = chunk.choices?.[0];
    // Gemini reports the usage in every chunk, the others in one chunk after the reply.
    usage = chunk.usage ?? usage;
    if (chunk.usage) onTokens?.(tokensOf(chunk.usage));
    isRefused ||= choice?.finish_reason === 'content_filter' || Boolean(choice?.delta?.refusal);
    const piece: unknown = choice?.delta?.content;
    if (typeof piece === 'string' && piece !== '') {
      text += piece;
      onText(piece);
    }
    return typeof choice?.finish_reason === 'string';
  });
  const tokens = tokensOf(usage);
  if (isRefused) throw new RefusedReply();
  return { text, ...tokens };
}

/** Gemini counts thinking tokens in the total only. */
function tokensOf(usage: CompletionUsage | null | undefined): Tokens {
  const inputTokens = countOf(usage?.prompt_tokens);
  return {
    inputTokens,
    outputTokens: Math.max(countOf(usage?.completion_tokens), countOf(usage?.total_tokens) - inputTokens),
  };
}
