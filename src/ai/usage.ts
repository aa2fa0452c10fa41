import { setTimeout as pause } from 'node:timers/promises';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import type { SurveyAiSwitch } from '../stores/postgres/ai/settings.ts';
import type { AiUsageStore } from '../stores/postgres/ai/usage.ts';
import type { ProviderBudget, ProviderLimits } from '../stores/redis/ai/provider-budget.ts';
import { costOf } from './providers/models.ts';
import type { CompletionRequest, Provider, Tokens } from './providers/provider.ts';
import { isRefusedByStatus, loggableRefusal } from './providers/provider-errors.ts';

/** The user for whom a call is made, and its survey. */
export interface CallPurpose {
  userId?: string | undefined;
  surveyId?: string | undefined;
  /** One of many calls of a job, for none of which a user waits. */
  isBulk?: boolean;
  /** Receives the milliseconds that a call still has to wait for the limits, repeatedly, and 0 when it goes on. */
  waits?: (ms: number) => void;
}

export interface UsageMeterDeps {
  budget: ProviderBudget;
  usage: Pick<AiUsageStore, 'record'>;
  surveys: SurveyAiSwitch;
  /**
   * How long a call may wait for the limits, in milliseconds; Infinity for jobs, which are delayed instead of failing.
   */
  maxWaitMs: number;
  /** Runs a step of the database; for jobs it repeats the step while the database is away. */
  retryOnOutage<T>(step: () => Promise<T>): Promise<T>;
  newId(): string;
  log: Log;
}

export interface MeteredAccount {
  /** Identifies the key whose limits apply; equal in all processes. */
  account: string;
  allowance: ProviderLimits;
  purpose: CallPurpose;
}

/** A waiting call asks again at least this often, because other calls return tokens that they did not use. */
const maxPollMs = 1000;
const bytesPerToken = 3;

/**
 * Wraps a provider with its limits per minute, which all processes share, and records the usage of every call. A call
 * waits up to `maxWaitMs` for the limits, then fails as AI_RATE_LIMITED without having been sent. When the provider
 * itself says that it is at its limit, all calls pause for as long as it asks. Nothing about a survey is sent once its
 * AI is off. While Redis is away, calls are sent without limits; the provider's own limits still hold. What the provider
 * does not count, as where a reply breaks off, counts by its length in the limits. In the usage only what it counted
 * stands, and a call without any count has no known cost.
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
    { inputTokens, outputTokens, isFailed, isCharged }: Tokens & { isFailed: boolean; isCharged: boolean },
  ) => {
    const call = {
      id,
      provider: provider.name,
      model: request.model,
      task: request.schemaName,
      userId: purpose.userId ?? null,
      surveyId: purpose.surveyId ?? null,
    };
    const isCounted = inputTokens + outputTokens > 0;
    const costUsd = isCounted || !isCharged ? costOf(request.model, { inputTokens, outputTokens }) : null;
    const row = { ...call, isFailed, inputTokens, outputTokens, costUsd };
    return deps
      .retryOnOutage(() => usage.record(row))
      .catch((error: unknown) => log.warn({ err: error }, 'recording the usage of an AI call failed'));
  };
  return {
    ...provider,
    account,
    async complete(request) {
      const id = deps.newId();
      try {
        await waitUntilAllowed(id, request, metered, deps);
      } catch (error) {
        await settle(id, 0);
        throw error;
      }
      const seen = { text: '', inputTokens: 0, outputTokens: 0 };
      const { onText } = request;
      try {
        const completion = await provider.complete({
          ...request,
          onTokens: (tokens) => Object.assign(seen, tokens),
          ...(onText && {
            onText: (piece) => {
              seen.text += piece;
              onText(piece);
            },
          }),
        });
        const { inputTokens, outputTokens } = completion;
        const recorded = Promise.all([
          settle(id, inputTokens + outputTokens || inputTokensOf(request) + tokensIn(completion.text)),
          record(id, request, { inputTokens, outputTokens, isFailed: false, isCharged: true }),
        ]);
        return { ...completion, recorded };
      } catch (error) {
        if (error instanceof Problem && error.code === 'AI_RATE_LIMITED')
          await budget
            .pause(account, (error.retryAfterSeconds ?? 1) * 1000)
            .catch((error: unknown) => log.debug({ err: error }, 'pausing calls to an AI provider failed'));
        else if (isRefusedByStatus(error)) {
          const call = { provider: provider.name, model: request.model, task: request.schemaName };
          log.warn({ ...call, ...loggableRefusal(error) }, 'an AI provider refused a call');
        }
        const { text, inputTokens, outputTokens } = seen;
        await Promise.all([
          settle(id, (inputTokens || inputTokensOf(request)) + Math.max(outputTokens, tokensIn(text))),
          record(id, request, { inputTokens, outputTokens, isFailed: true, isCharged: !isRefusedByStatus(error) }),
        ]);
        throw error;
      }
    },
  };
}

/**
 * Resolves when the limits allow the call and AI is on for its survey, which is asked last, immediately before the call
 * is sent.
 */
async function waitUntilAllowed(
  id: string,
  request: CompletionRequest,
  metered: MeteredAccount,
  deps: UsageMeterDeps,
): Promise<void> {
  const { signal } = request;
  await waitForBudget({ id, tokens: inputTokensOf(request) + request.maxOutputTokens, signal }, metered, deps);
  const { surveyId } = metered.purpose;
  if (surveyId !== undefined && !(await deps.retryOnOutage(() => deps.surveys.isEnabled(surveyId))))
    throw new Problem('AI_DISABLED');
  signal.throwIfAborted();
}

/** Resolves when the call has its tokens in the provider's budget. */
async function waitForBudget(
  { id, tokens, signal }: { id: string; tokens: number; signal: AbortSignal },
  { account, allowance, purpose: { isBulk = false, waits } }: MeteredAccount,
  { budget, maxWaitMs, log }: UsageMeterDeps,
): Promise<void> {
  for (let [startedAt, hasWaited] = [performance.now(), false]; ; hasWaited = true) {
    signal.throwIfAborted();
    const waitMs = await budget.acquire(account, { id, tokens, isBulk }, allowance).catch((error: unknown) => {
      log.warn({ err: error }, 'could not check the rate limits of an AI provider, sending the call anyway');
      return 0;
    });
    if (waitMs === 0 && hasWaited) waits?.(0);
    if (waitMs === 0) return;
    const leftMs = maxWaitMs - (performance.now() - startedAt);
    // Fails at once where the wait would be longer than allowed.
    if (waitMs > leftMs)
      throw new Problem('AI_RATE_LIMITED', 'The limit of calls to the AI provider is reached', {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      });
    waits?.(waitMs);
    await pause(Math.min(waitMs, maxPollMs) * (1 + Math.random() / 10), undefined, { signal });
  }
}

const inputTokensOf = ({ system, turns, schema }: CompletionRequest): number =>
  tokensIn(system, JSON.stringify(schema), ...turns.map(({ text }) => text));

/** An estimate on the high side for every script: a token of English text has about four bytes. */
const tokensIn = (...texts: string[]): number =>
  Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / bytesPerToken);
