import OpenAI, { AzureOpenAI } from 'openai';
import type { ProviderName } from '../settings.ts';
import { callFailure } from './failures.ts';
import { effortOf } from './models.ts';
import { countOf, RefusedReply, type Completion, type CompletionRequest, type Provider } from './provider.ts';

const geminiBaseUrl = 'https://generativelanguage.googleapis.com/v1beta/openai/';
/** The dated interface that first took JSON schemas for good. */
const azureApiVersion = '2024-10-21';

export interface ProviderOptions {
  apiKey: string;
  baseUrl?: string | undefined;
  models: Provider['models'];
  /** For one call; the request's signal may end it earlier. */
  timeoutMs: number;
  fetch: typeof fetch;
}

/** Provider A. */
export function createOpenAi({ apiKey, baseUrl, models, timeoutMs, fetch }: ProviderOptions): Provider {
  const client = new OpenAI({ apiKey, baseURL: baseUrl ?? null, organization: null, project: null, maxRetries: 0, timeout: timeoutMs, logLevel: 'off', fetch });
  return chatProvider('openai', client, models);
}

/** Provider C, through its OpenAI-compatible interface. */
export function createGemini({ apiKey, baseUrl = geminiBaseUrl, models, timeoutMs, fetch }: ProviderOptions): Provider {
  const client = new OpenAI({ apiKey, baseURL: baseUrl, organization: null, project: null, maxRetries: 0, timeout: timeoutMs, logLevel: 'off', fetch: unlisted(fetch) });
  return chatProvider('gemini', client, models);
}

/** Provider D: the deployment decides the model, so both tiers are the deployment unless models are named. */
export function createAzure({ apiKey, endpoint, deployment, models, timeoutMs, fetch }: Omit<ProviderOptions, 'baseUrl'> & { endpoint: string; deployment: string }): Provider {
  const client = new AzureOpenAI({ apiKey, baseURL: null, endpoint, deployment, apiVersion: azureApiVersion, maxRetries: 0, timeout: timeoutMs, logLevel: 'off', fetch });
  return chatProvider('azure', client, models);
}

/** This provider puts its errors into a list of one, where the SDK does not find what they say. */
function unlisted(fetch: ProviderOptions['fetch']): ProviderOptions['fetch'] {
  return async (input, init) => {
    const reply = await fetch(input, init);
    if (reply.ok) return reply;
    const text = await reply.text();
    const { status, headers } = reply;
    return new Response((/^\s*\[(.*)\]\s*$/s.exec(text)?.[1] ?? text) || null, { status, headers });
  };
}

function chatProvider(name: ProviderName, client: OpenAI, models: Provider['models']): Provider {
  return {
    name,
    models,
    async complete(request) {
      await request.begin?.();
      try {
        return await complete(name, client, request);
      } catch (error) {
        throw callFailure(error, request.signal);
      }
    },
  };
}

async function complete(name: ProviderName, client: OpenAI, { model, system, turns, schemaName, schema, maxOutputTokens, signal }: CompletionRequest): Promise<Completion> {
  const effort = effortOf(model);
  const reply = await client.chat.completions.create(
    {
      model,
      messages: [{ role: 'system', content: system }, ...turns.map(({ role, text }) => ({ role, content: text }))],
      response_format: { type: 'json_schema', json_schema: { name: schemaName, schema: { ...schema }, strict: true } },
      ...(name === 'gemini' ? { max_tokens: maxOutputTokens } : { max_completion_tokens: maxOutputTokens }),
      // The dated interface of Azure does not take it.
      ...(name !== 'azure' && effort && { reasoning_effort: effort }),
    },
    { signal },
  );
  const choice = reply.choices?.[0];
  const inputTokens = countOf(reply.usage?.prompt_tokens);
  // Gemini counts its thoughts in the total alone.
  const tokens = { inputTokens, outputTokens: Math.max(countOf(reply.usage?.completion_tokens), countOf(reply.usage?.total_tokens) - inputTokens) };
  if (choice?.finish_reason === 'content_filter' || choice?.message?.refusal) throw new RefusedReply(tokens);
  const content: unknown = choice?.message?.content;
  return { text: typeof content === 'string' ? content : '', ...tokens };
}
