import Anthropic from '@anthropic-ai/sdk';
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import { callFailure } from './failures.ts';
import { effortOf } from './models.ts';
import type { ProviderOptions } from './openai.ts';
import { countOf, RefusedReply, type Completion, type CompletionRequest, type Provider } from './provider.ts';

/** Provider B. */
export function createAnthropic({ apiKey, baseUrl, models, timeoutMs, fetch }: ProviderOptions): Provider {
  const client = new Anthropic({ apiKey, authToken: null, baseURL: baseUrl ?? null, maxRetries: 0, timeout: timeoutMs, logLevel: 'off', fetch });
  return {
    name: 'anthropic',
    models,
    async complete(request) {
      await request.begin?.();
      try {
        return await complete(client, request);
      } catch (error) {
        throw callFailure(error, request.signal);
      }
    },
  };
}

async function complete(client: Anthropic, { model, system, turns, schema, maxOutputTokens, signal }: CompletionRequest): Promise<Completion> {
  const effort = effortOf(model);
  const reply = await client.messages.create(
    {
      model,
      max_tokens: maxOutputTokens,
      system,
      messages: turns.map(({ role, text }) => ({ role, content: text })),
      // This provider takes fewer keywords; the SDK moves the others into descriptions.
      output_config: { format: { type: 'json_schema', schema: transformJSONSchema({ ...schema }) }, ...(effort === 'low' && { effort }) },
    },
    { signal },
  );
  const tokens = { inputTokens: countOf(reply.usage?.input_tokens), outputTokens: countOf(reply.usage?.output_tokens) };
  if (reply.stop_reason === 'refusal') throw new RefusedReply(tokens);
  const text = (reply.content ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');
  return { text, ...tokens };
}
