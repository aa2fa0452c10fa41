import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import type { SurveyAiSwitch } from '../stores/postgres/ai/settings.ts';
import type { AiUsageStore } from '../stores/postgres/ai/usage.ts';
import type { ProviderBudget, ProviderLimits } from '../stores/redis/ai/provider-budget.ts';
import { costOf } from './providers/models.ts';
import { type CompletionRequest, type Provider, RefusedReply, type Tokens } from './providers/provider.ts';
import { yieldToNextCall } from './yield-to-next-call.ts';

/** Whose work a call is, and about which survey. */
export interface CallPurpose {
  userId?: string | undefined;
  surveyId?: string | undefined;
  /** Of many calls that nobody waits for one by one. */
  isBulk?: boolean;
  /** Told for how many ms a call has to wait for the limits yet, again and again, and 0 when it goes on. */
  waits?: (ms: number) => void;
}

export interface UsageMeterDeps {
  budget: ProviderBudget;
  usage: Pick<AiUsageStore, 'record'>;
  surveys: SurveyAiSwitch;
  /** Whether there was news of the survey since a moment of `performance.now()`. They may be lost: what was found out is not held on to for long anyway. */
  isChangedSince?(surveyId: string, sinceMs: number): boolean;
  /** How long a call may wait for room; Infinity for jobs, which are delayed rather than failed. */
  patienceMs: number;
  /** Runs a step of the database, again where that was away for a moment and nobody waits with an open request. */
  lasting<T>(step: () => Promise<T>): Promise<T>;
  newId(): string;
  log: Log;
}

export interface MeteredAccount {
  /** Names whose limits they are; equal in all processes. */
  account: string;
  allowance: ProviderLimits;
  purpose: CallPurpose;
}

/** What was found out before a call holds for so long. */
const readyForMs = 100;
/** Room may come earlier than foretold: calls give back what they did not take. */
const pollMs = 1000;
const bytesPerToken = 3;

/**
 * The provider within its limits a minute, which all processes share, and with every call written down. A call waits for room while
 * patience lasts, then it is AI_RATE_LIMITED without having been sent. When the provider itself says that it is at its limit, nobody
 * calls it for as long as it asks. Nothing more about a survey is sent once its AI is off. While Redis is away calls go out unlimited; the provider's own limit still holds.
 */
export function rateLimited(provider: Provider, metered: MeteredAccount, deps: UsageMeterDeps): Provider {
  const { budget, usage, log } = deps;
  const { account, purpose } = metered;
  const settle = (id: string, tokens: number) =>
    budget
      .recordUsage(account, { id, tokens })
      .catch((error: unknown) => log.debug({ err: error }, 'settling the tokens of an AI call failed'));
  const record = (
    id: string,
    request: CompletionRequest,
    { inputTokens, outputTokens, isFailed }: Tokens & { isFailed: boolean },
  ) => {
    const call = {
      id,
      provider: provider.name,
      model: request.model,
      task: request.schemaName,
      userId: purpose.userId ?? null,
      surveyId: purpose.surveyId ?? null,
    };
    const costUsd = costOf(request.model, { inputTokens, outputTokens });
    return deps
      .lasting(() => usage.record({ ...call, isFailed, inputTokens, outputTokens, costUsd }))
      .catch((error: unknown) => log.warn({ err: error }, 'recording the usage of an AI call failed'));
  };
  return {
    ...provider,
    account,
    async complete(request) {
      const id = deps.newId();
      let unready: { error: unknown } | undefined;
      const begin = (): Promise<void> =>
        waitUntilAllowed(id, request, metered, deps).catch((error: unknown) => {
          unready = { error };
          throw error;
        });
      try {
        const completion = await provider.complete({ ...request, begin });
        // What is stored of the answer is not to stand in line behind this, nor is the next call.
        const tell = (): Promise<unknown> => record(id, request, { ...completion, isFailed: false });
        const noted = Promise.all([
          turn().then(() => settle(id, completion.inputTokens + completion.outputTokens)),
          yieldToNextCall().then(tell),
        ]);
        return { ...completion, noted };
      } catch (error) {
        if (unready) {
          await settle(id, 0);
          throw unready.error;
        }
        if (error instanceof Problem && error.code === 'AI_RATE_LIMITED')
          await budget
            .pause(account, (error.retryAfterSeconds ?? 1) * 1000)
            .catch((trouble: unknown) => log.debug({ err: trouble }, 'pausing calls to an AI provider failed'));
        const counted = error instanceof RefusedReply ? error.tokens : undefined;
        const taken = counted ? counted.inputTokens + counted.outputTokens : inputTokensOf(request);
        await Promise.all([
          settle(id, taken),
          record(id, request, { ...(counted ?? { inputTokens: 0, outputTokens: 0 }), isFailed: true }),
        ]);
        throw error;
      }
    },
  };
}

/**
 * Resolves when the call has room, is allowed and has leave to begin. Whether it is allowed is asked before it is near, the rest once it is. Where that leave was
 * waited for, or the survey has changed meanwhile, it is asked again: room that the call still has it keeps.
 */
async function waitUntilAllowed(
  id: string,
  request: CompletionRequest,
  metered: MeteredAccount,
  deps: UsageMeterDeps,
): Promise<void> {
  const call = { id, tokens: inputTokensOf(request) + request.maxOutputTokens, signal: request.signal };
  let look = checkAiEnabled(metered.purpose, deps);
  await request.near?.();
  for (let readyAt = -Infinity; performance.now() - readyAt > readyForMs || !look.holds(); ) {
    if (!look.holds()) look = checkAiEnabled(metered.purpose, deps);
    const hasWaited = await waitForBudget(call, metered, deps);
    // Limits that are slow to answer would else outlast what is known each time.
    if (hasWaited || !look.holds()) look = checkAiEnabled(metered.purpose, deps);
    if (!(await look.isOn)) throw new Problem('AI_DISABLED');
    readyAt = performance.now();
    await request.begin?.();
    request.signal.throwIfAborted();
  }
}

/** Asks whether AI is on for the survey; that holds for a moment, unless the survey is changed. */
function checkAiEnabled(
  { surveyId }: CallPurpose,
  { surveys, isChangedSince, lasting }: UsageMeterDeps,
): { isOn: Promise<boolean>; holds(): boolean } {
  if (surveyId === undefined) return { isOn: Promise.resolve(true), holds: () => true };
  const askedAt = performance.now();
  let knownAt = Infinity;
  const isOn = lasting(() => surveys.isEnabled(surveyId)).finally(() => (knownAt = performance.now()));
  isOn.catch(() => undefined);
  return { isOn, holds: () => performance.now() - knownAt <= readyForMs && !isChangedSince?.(surveyId, askedAt) };
}

/** Gives whether there was none at first. */
async function waitForBudget(
  { id, tokens, signal }: { id: string; tokens: number; signal: AbortSignal },
  { account, allowance, purpose: { isBulk = false, waits } }: MeteredAccount,
  { budget, patienceMs, log }: UsageMeterDeps,
): Promise<boolean> {
  for (let [startedAt, hasWaited] = [performance.now(), false]; ; hasWaited = true) {
    signal.throwIfAborted();
    const waitMs = await budget.acquire(account, { id, tokens, isBulk }, allowance).catch((error: unknown) => {
      log.warn({ err: error }, 'could not check the rate limits of an AI provider, sending the call anyway');
      return 0;
    });
    if (waitMs === 0 && hasWaited) waits?.(0);
    if (waitMs === 0) return hasWaited;
    const leftMs = patienceMs - (performance.now() - startedAt);
    // Waiting that cannot end well does not begin.
    if (waitMs > leftMs)
      throw new Problem('AI_RATE_LIMITED', 'The limit of calls to the AI provider is reached', {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      });
    waits?.(waitMs);
    await pause(Math.min(waitMs, pollMs) * (1 + Math.random() / 10), undefined, { signal });
  }
}

/** On the high side for every script: a token of English is about four bytes. */
function inputTokensOf({ system, turns, schema }: CompletionRequest): number {
  const texts = [system, JSON.stringify(schema), ...turns.map(({ text }) => text)];
  return Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / bytesPerToken);
}
