import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import { announced, endOf, equalCall, Overtaken } from './equal-calls.ts';
import { thinkingTokens } from './models.ts';
import { withOwnSignal } from './own-signal.ts';
import { UnfitReply, type Completion, type CompletionRequest, type ModelTier, type Provider, type Turn } from './provider.ts';
import type { ReplyReading } from './read-reply.ts';
import type { Reader } from './said-words.ts';

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
  read(reply: unknown): ReplyReading<T>;
  /** Of the reply alone. */
  maxOutputTokens: number;
}

export interface Asked<T> {
  value: T;
  model: string;
  inputTokens: number;
  outputTokens: number;
}

export interface AskAhead {
  signal: AbortSignal;
  /** See CompletionRequest, as of `begin`. */
  near?: CompletionRequest['near'];
  begin?: CompletionRequest['begin'];
  /** Takes each reply as it comes, before it is read. */
  heard?: (text: string) => void;
  /** Reads along while a reply is written; one that is known is told at once. */
  reader?: Reader | undefined;
}

/** Asks a provider for a value, unless the same was asked a short while ago, or is being asked by this process. Only replies that fit are kept. The calls that it took are written down. */
export async function ask<T>(provider: Provider, task: Task<T>, signal: AbortSignal, reader?: Reader): Promise<Asked<T>> {
  const { noted, ...asked } = await askAhead(provider, task, { signal, reader });
  await noted;
  return asked;
}

/** The same; `noted` resolves when the calls are written down and the reply is kept. */
export async function askAhead<T>(provider: Provider, task: Task<T>, { signal, ...ahead }: AskAhead): Promise<Asked<T> & { noted: Promise<unknown> }> {
  const { kept, account = '' } = provider;
  const anew = (begin = ahead.begin) => withOwnSignal(signal, (own) => askAnew(provider, task, { ...ahead, signal: own, ...(begin && { begin }) }));
  if (!kept) return (await anew()).asked;
  const key = createHash('sha256').update(JSON.stringify([provider.name, provider.models[task.tier], task.name, task.version, task.system, task.data])).digest('base64url');
  // Another key may be of use where this one is not.
  const ofAccount = `${account} ${key}`;
  const call = async (announce: () => void) => {
    const { asked, text } = await anew(announcing(ahead.begin, announce));
    const isKept = kept.set(key, text);
    return { ...asked, noted: Promise.all([asked.noted, isKept]), isKept };
  };
  for (;;) {
    const known = await kept.get(key);
    const read = known === undefined ? undefined : readReply(known, task);
    if (known !== undefined && read && 'value' in read) {
      ahead.reader?.wrote(known);
      return { value: read.value, model: provider.models[task.tier], inputTokens: 0, outputTokens: 0, noted: Promise.resolve() };
    }
    const other = equalCall(kept, ofAccount);
    if (other) await endOf(other, signal);
    else {
      try {
        const { isKept: _, ...asked } = await announced(kept, ofAccount, { call, isKept: (given) => given.isKept, signal });
        return asked;
      } catch (error) {
        if (!(error instanceof Overtaken)) throw error;
      }
    }
  }
}

/** Announces a call when it may go out: at once where it waits for no leave. */
function announcing(begin: AskAhead['begin'], announce: () => void): AskAhead['begin'] {
  if (!begin) return void announce();
  return async () => {
    await begin();
    announce();
  };
}

/** A reply that does not fit is sent back once with what is wrong; then it is AI_PROVIDER_ERROR. Calls that came to nothing are written down before that is said. */
async function askAnew<T>(provider: Provider, task: Task<T>, ahead: AskAhead): Promise<{ asked: Asked<T> & { noted: Promise<unknown> }; text: string }> {
  const calls: Completion[] = [];
  try {
    const { value, text } = await exchange(provider, { task, calls }, ahead);
    const sum = (tokens: 'inputTokens' | 'outputTokens') => calls.reduce((all, call) => all + call[tokens], 0);
    const noted = Promise.all(calls.map((call) => call.noted));
    return { asked: { value, model: provider.models[task.tier], inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens'), noted }, text };
  } catch (error) {
    await Promise.allSettled(calls.map(({ noted }) => noted));
    throw error;
  }
}

/** Adds each call that was answered to `calls`. */
async function exchange<T>(provider: Provider, { task, calls }: { task: Task<T>; calls: Completion[] }, { signal, near, begin, heard, reader }: AskAhead): Promise<{ value: T; text: string }> {
  const model = provider.models[task.tier];
  const schema = schemaOf(task.schema);
  const question: Turn = { role: 'user', text: JSON.stringify(task.data) };
  const say = async (turns: readonly Turn[]) => {
    const call = await provider.complete({
      model, system: task.system, turns, schemaName: task.name, schema, maxOutputTokens: task.maxOutputTokens + thinkingTokens(model), signal,
      ...(near && { near }), ...(begin && { begin }), ...(reader && { wrote: reader.wrote }),
    });
    calls.push(call);
    heard?.(call.text);
    // What that sets off goes out before the reply is read.
    if (heard) await turn();
    return call.text;
  };
  const first = await say([question]);
  const read = readReply(first, task);
  if ('value' in read) return { value: read.value, text: first };
  reader?.again();
  const second = await say([question, { role: 'assistant', text: first.slice(0, mostQuoted) || '{}' }, { role: 'user', text: repairWords(read.wrong) }]);
  const repaired = readReply(second, task);
  if (!('value' in repaired)) throw new UnfitReply();
  return { value: repaired.value, text: second };
}

/** Characters of a reply that are sent back to whoever gave it. */
const mostQuoted = 100_000;
const mistakesTold = 20;

function repairWords(wrong: readonly string[]): string {
  return JSON.stringify({ problem: 'Your reply cannot be used. Reply again, in full, with these mistakes put right.', mistakes: wrong.slice(0, mistakesTold) });
}

/** What a reply to a task says. */
export function readReply<T>(text: string, task: Pick<Task<T>, 'read'>): ReplyReading<T> {
  let reply: unknown;
  try {
    // Some models put their JSON into a Markdown fence.
    const json = text.trim().replace(/^```(?:json)?\s*|\s*```$/g, '');
    // Looking at every value is slow, and nearly always in vain.
    const isStorable = json.isWellFormed() && !json.includes('\\u');
    reply = !isStorable ? JSON.parse(json, (_key, value: unknown) => (typeof value === 'string' ? storable(value) : value)) : JSON.parse(json);
  } catch {
    return { wrong: ['the reply is not JSON, or was cut off because it is too long'] };
  }
  return task.read(reply);
}

/** Without what no store takes. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

const written = new WeakMap<z.ZodType, Record<string, unknown>>();

/** As it is sent; of many calls with one schema once. */
function schemaOf(schema: z.ZodType): Record<string, unknown> {
  const known = written.get(schema);
  if (known) return known;
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  written.set(schema, rest);
  return rest;
}
