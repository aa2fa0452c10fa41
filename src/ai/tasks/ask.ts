import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import type { TextListener } from '../json-text-stream.ts';
import { thinkingTokens } from '../providers/models.ts';
import {
  type Completion,
  type CompletionRequest,
  InvalidReply,
  type ModelTier,
  type Provider,
  type Turn,
} from '../providers/provider.ts';
import { withScopedSignal } from '../providers/scoped-signal.ts';
import type { ParsedReply } from './parse-reply.ts';
import { DuplicateCall, findSharedCall, shareCall, waitForSharedCall } from './shared-calls.ts';

/** A thing to ask a model for. */
export interface Task<T> {
  /** Letters and hyphens. */
  name: string;
  /** Changes with every change of the wording or of a schema; part of what a reply is kept under. */
  version: number;
  tier: ModelTier;
  system: string;
  /** What the model works on. It travels as JSON in the user's turn, so that nothing in it reads as an instruction of ours. */
  data: unknown;
  /** What the model is told to reply. */
  schema: z.ZodType;
  read(reply: unknown): ParsedReply<T>;
  /** Of the reply alone. */
  maxOutputTokens: number;
}

export interface AskResult<T> {
  value: T;
  model: string;
  inputTokens: number;
  outputTokens: number;
}

export interface AskOptions {
  signal: AbortSignal;
  /** See CompletionRequest, as of `begin`. */
  near?: CompletionRequest['near'];
  begin?: CompletionRequest['begin'];
  /** Takes each reply as it comes, before it is read. */
  heard?: (text: string) => void;
  /** Reads along while a reply is written; one that is known is told at once. */
  reader?: TextListener | undefined;
}

/** Asks a provider for a value, unless the same was asked a short while ago, or is being asked by this process. Only replies that fit are kept. The calls that it took are written down. */
export async function ask<T>(
  provider: Provider,
  task: Task<T>,
  signal: AbortSignal,
  reader?: TextListener,
): Promise<AskResult<T>> {
  const { noted, ...asked } = await askDeferred(provider, task, { signal, reader });
  await noted;
  return asked;
}

/** The same; `noted` resolves when the calls are written down and the reply is kept. */
export async function askDeferred<T>(
  provider: Provider,
  task: Task<T>,
  { signal, ...ahead }: AskOptions,
): Promise<AskResult<T> & { noted: Promise<unknown> }> {
  const { replyCache, account = '' } = provider;
  const anew = (begin = ahead.begin) =>
    withScopedSignal(signal, (own) => askProvider(provider, task, { ...ahead, signal: own, ...(begin && { begin }) }));
  if (!replyCache) return (await anew()).asked;
  const key = createHash('sha256')
    .update(
      JSON.stringify([provider.name, provider.models[task.tier], task.name, task.version, task.system, task.data]),
    )
    .digest('base64url');
  // Another key may be of use where this one is not.
  const ofAccount = `${account} ${key}`;
  const call = async (announce: () => void) => {
    const { asked, text } = await anew(announceOnBegin(ahead.begin, announce));
    const isKept = replyCache.set(key, text);
    return { ...asked, noted: Promise.all([asked.noted, isKept]), isKept };
  };
  for (;;) {
    const known = await replyCache.get(key);
    const read = known === undefined ? undefined : parseReplyText(known, task);
    if (known !== undefined && read && 'value' in read) {
      ahead.reader?.onText(known);
      return {
        value: read.value,
        model: provider.models[task.tier],
        inputTokens: 0,
        outputTokens: 0,
        noted: Promise.resolve(),
      };
    }
    const other = findSharedCall(replyCache, ofAccount);
    if (other) await waitForSharedCall(other, signal);
    else {
      try {
        const { isKept: _, ...asked } = await shareCall(replyCache, ofAccount, {
          call,
          isKept: (given) => given.isKept,
          signal,
        });
        return asked;
      } catch (error) {
        if (!(error instanceof DuplicateCall)) throw error;
      }
    }
  }
}

/** Announces a call when it may go out: at once where it waits for no leave. */
function announceOnBegin(begin: AskOptions['begin'], announce: () => void): AskOptions['begin'] {
  if (!begin) return void announce();
  return async () => {
    await begin();
    announce();
  };
}

/** A reply that does not fit is sent back once with what is wrong; then it is AI_PROVIDER_ERROR. Calls that came to nothing are written down before that is said. */
async function askProvider<T>(
  provider: Provider,
  task: Task<T>,
  ahead: AskOptions,
): Promise<{ asked: AskResult<T> & { noted: Promise<unknown> }; text: string }> {
  const calls: Completion[] = [];
  try {
    const { value, text } = await exchangeWithRepair(provider, { task, calls }, ahead);
    const sum = (tokens: 'inputTokens' | 'outputTokens') => calls.reduce((all, call) => all + call[tokens], 0);
    const noted = Promise.all(calls.map((call) => call.noted));
    return {
      asked: {
        value,
        model: provider.models[task.tier],
        inputTokens: sum('inputTokens'),
        outputTokens: sum('outputTokens'),
        noted,
      },
      text,
    };
  } catch (error) {
    await Promise.allSettled(calls.map(({ noted }) => noted));
    throw error;
  }
}

/** Adds each call that was answered to `calls`. */
async function exchangeWithRepair<T>(
  provider: Provider,
  { task, calls }: { task: Task<T>; calls: Completion[] },
  { signal, near, begin, heard, reader }: AskOptions,
): Promise<{ value: T; text: string }> {
  const model = provider.models[task.tier];
  const schema = schemaOf(task.schema);
  const question: Turn = { role: 'user', text: JSON.stringify(task.data) };
  const complete = async (turns: readonly Turn[]) => {
    const call = await provider.complete({
      model,
      system: task.system,
      turns,
      schemaName: task.name,
      schema,
      maxOutputTokens: task.maxOutputTokens + thinkingTokens(model),
      signal,
      ...(near && { near }),
      ...(begin && { begin }),
      ...(reader && { wrote: reader.onText }),
    });
    calls.push(call);
    heard?.(call.text);
    // What that sets off goes out before the reply is read.
    if (heard) await turn();
    return call.text;
  };
  const first = await complete([question]);
  const read = parseReplyText(first, task);
  if ('value' in read) return { value: read.value, text: first };
  reader?.onRestart();
  const second = await complete([
    question,
    { role: 'assistant', text: first.slice(0, maxQuotedCharacters) || '{}' },
    { role: 'user', text: repairPrompt(read.wrong) },
  ]);
  const repaired = parseReplyText(second, task);
  if (!('value' in repaired)) throw new InvalidReply();
  return { value: repaired.value, text: second };
}

/** Characters of a reply that are sent back to whoever gave it. */
const maxQuotedCharacters = 100_000;
const maxMistakes = 20;

function repairPrompt(wrong: readonly string[]): string {
  return JSON.stringify({
    problem: 'Your reply cannot be used. Reply again, in full, with these mistakes put right.',
    mistakes: wrong.slice(0, maxMistakes),
  });
}

/** What a reply to a task says. */
export function parseReplyText<T>(text: string, task: Pick<Task<T>, 'read'>): ParsedReply<T> {
  let reply: unknown;
  try {
    // Some models put their JSON into a Markdown fence.
    const json = text.trim().replace(/^```(?:json)?\s*|\s*```$/g, '');
    // Looking at every value is slow, and nearly always in vain.
    const isStorable = json.isWellFormed() && !json.includes('\\u');
    reply = !isStorable
      ? JSON.parse(json, (_key, value: unknown) => (typeof value === 'string' ? storable(value) : value))
      : JSON.parse(json);
  } catch {
    return { wrong: ['the reply is not JSON, or was cut off because it is too long'] };
  }
  return task.read(reply);
}

/** Without what no store takes. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

const jsonSchemas = new WeakMap<z.ZodType, Record<string, unknown>>();

/** As it is sent; of many calls with one schema once. */
function schemaOf(schema: z.ZodType): Record<string, unknown> {
  const known = jsonSchemas.get(schema);
  if (known) return known;
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  jsonSchemas.set(schema, rest);
  return rest;
}
