import { z } from 'zod';
import { Problem } from '../../errors.ts';
import { jsonDigest } from '../../platform/json-digest.ts';
import { withScopedSignal } from '../../platform/scoped-signal.ts';
import type { TextListener } from '../json-text-stream.ts';
import { thinkingTokens } from '../providers/models.ts';
import { InvalidReply, type ModelTier, type Provider, type Turn } from '../providers/provider.ts';
import { callFailure } from '../providers/provider-errors.ts';
import { type ParsedReply, parseReplyText } from './parse-reply.ts';
import { findSharedCall, shareCall, waitForSharedCall } from './shared-calls.ts';

/**
 * Maximum tokens of a reply to a task whose length depends on its survey. With the thinking of a model whose name is
 * unknown it makes 16,000: models that write 16,384 refuse a call that asks for more.
 */
export const maxReplyTokens = 12_000;

/** A question to a model: prompt, data, and how to read the reply. */
export interface Task<T> {
  /** Letters and hyphens. */
  name: string;
  /** Changes with every change of the prompt or of a schema; part of the key of cached replies. */
  version: number;
  tier: ModelTier;
  system: string;
  /**
   * The material. It is sent as JSON in the user's turn, so that no part of it reads as an instruction of the service.
   */
  data: unknown;
  /** The schema of the reply that is sent to the provider. */
  schema: z.ZodType;
  read(reply: unknown): ParsedReply<T>;
  /** Maximum tokens of the reply, without thinking. */
  maxOutputTokens: number;
  /**
   * How long the reply may be cached, 0 for not at all; without it as long as the setting says. The erasure of a
   * response or a survey does not search the cache, so what tells of responses is bounded here.
   */
  maxCacheSeconds?: number;
}

export interface AskResult<T> {
  value: T;
  model: string;
  inputTokens: number;
  outputTokens: number;
}

export interface AskOptions {
  /** Receives the text of the reply while it is streamed; a cached reply comes at once. */
  reader?: TextListener | undefined;
  /**
   * Called with each reply of the provider, also one that turns out invalid, before it is read. Not called for cached
   * replies.
   */
  onReply?: (text: string) => Promise<void>;
}

/**
 * Asks a provider for a value. A valid reply to an equal question is taken from the cache or, where this process is
 * asking the same, waited for, also while the cache cannot be reached. Valid replies are cached as the task allows, and
 * the usage of all calls is recorded, before the result is returned or the failure is thrown.
 */
export async function ask<T>(
  provider: Provider,
  task: Task<T>,
  signal: AbortSignal,
  options: AskOptions = {},
): Promise<AskResult<T>> {
  try {
    return await askOnce(provider, task, { ...options, signal });
  } catch (error) {
    // The time limit may end while the call waits for the limits of the provider, or for an equal call.
    throw signal.aborted && !(error instanceof Problem) ? callFailure(error, signal) : error;
  }
}

async function askOnce<T>(
  provider: Provider,
  task: Task<T>,
  { signal, ...options }: AskOptions & { signal: AbortSignal },
): Promise<AskResult<T>> {
  const { replyCache, account = '' } = provider;
  const model = provider.models[task.tier];
  const askNow = () => withScopedSignal(signal, (own) => askProvider(provider, task, { ...options, signal: own }));
  if (!replyCache || task.maxCacheSeconds === 0) return (await askNow()).result;
  const { name, version, system, data } = task;
  const key = jsonDigest([provider.name, model, name, version, system, data]);
  // Calls with different API keys are not shared: one key may work where another fails.
  const sharedKey = `${account} ${key}`;
  const askAndCache = async () => {
    const reply = await askNow();
    await replyCache.set(key, reply.text, task.maxCacheSeconds);
    return reply;
  };
  for (let known = await replyCache.get(key); ; ) {
    const read = known === undefined ? undefined : parseReplyText(known, task);
    if (known !== undefined && read && 'value' in read) {
      options.reader?.onText(known);
      return { value: read.value, model, inputTokens: 0, outputTokens: 0 };
    }
    const other = findSharedCall(sharedKey);
    if (!other) return (await shareCall(sharedKey, { call: askAndCache, signal })).result;
    known = await waitForSharedCall(other, signal);
  }
}

/**
 * Asks, and asks a second time with the list of mistakes where the reply is invalid. Throws InvalidReply if the second
 * one is invalid too.
 */
async function askProvider<T>(
  provider: Provider,
  task: Task<T>,
  { signal, reader, onReply }: AskOptions & { signal: AbortSignal },
): Promise<{ result: AskResult<T>; text: string }> {
  const model = provider.models[task.tier];
  const schema = schemaOf(task.schema);
  const tokens = { inputTokens: 0, outputTokens: 0 };
  const complete = async (turns: readonly Turn[]) => {
    const call = await provider.complete({
      model,
      system: task.system,
      turns,
      schemaName: task.name,
      schema,
      maxOutputTokens: task.maxOutputTokens + thinkingTokens(model),
      signal,
      ...(reader && { onText: reader.onText }),
    });
    tokens.inputTokens += call.inputTokens;
    tokens.outputTokens += call.outputTokens;
    await Promise.all([onReply?.(call.text), call.recorded]);
    return call.text;
  };
  const question: Turn = { role: 'user', text: JSON.stringify(task.data) };
  const first = await complete([question]);
  const read = parseReplyText(first, task);
  if ('value' in read) return { result: { value: read.value, model, ...tokens }, text: first };
  reader?.onRestart();
  const second = await complete([
    question,
    { role: 'assistant', text: first.slice(0, maxQuotedCharacters) || '{}' },
    { role: 'user', text: repairPrompt(read.wrong) },
  ]);
  const repaired = parseReplyText(second, task);
  if (!('value' in repaired)) throw new InvalidReply();
  return { result: { value: repaired.value, model, ...tokens }, text: second };
}

/** How much of an invalid reply is quoted when the provider is asked again. */
const maxQuotedCharacters = 100_000;
const maxMistakes = 20;

function repairPrompt(wrong: readonly string[]): string {
  return JSON.stringify({
    problem: 'Your reply cannot be used. Reply again, in full, with these mistakes put right.',
    mistakes: wrong.slice(0, maxMistakes),
  });
}

const jsonSchemas = new WeakMap<z.ZodType, Record<string, unknown>>();

/** The JSON Schema that is sent; computed once for each schema. */
function schemaOf(schema: z.ZodType): Record<string, unknown> {
  const known = jsonSchemas.get(schema);
  if (known) return known;
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  jsonSchemas.set(schema, rest);
  return rest;
}
