import { httpDateMs } from '../platform/http-date.ts';
import type { DeliveryStatus } from '../stores/postgres/webhook-deliveries.ts';
import type { DeliveryAttempt } from '../stores/postgres/webhook-delivery-attempts.ts';
import type { Webhook } from '../stores/postgres/webhook-row.ts';
import type { SendResult } from './send.ts';

/**
 * When a delivery is sent again. The schedule is the setting WEBHOOK_RETRY_SCHEDULE_SECONDS (its default stands in
 * `src/settings/webhook-settings.ts`): entry n is the pause in seconds after the n-th failed attempt, ± 20 %, and after
 * the last entry the delivery is FAILED. Retry-After may lengthen a pause, to at most a day. 410 Gone, or five days
 * without any success, disables the endpoint.
 */
const jitter = 0.2;
const maxRetryAfterMs = 86_400_000;
const disableAfterMs = 5 * 86_400_000;
const goneReason = 'The endpoint answered 410 Gone';
const failingReason = 'No delivery has succeeded for five days';

export interface FailedAttempt {
  /** Failed attempts of this round, including this one. */
  tries: number;
  /** Seconds before each retry. */
  scheduleSeconds: readonly number[];
  /** Value of the Retry-After header. */
  retryAfter?: string | undefined;
  nowMs: number;
  /** Uniform in [0, 1). */
  random: number;
}

/** When to try again, in Unix milliseconds; undefined when this was the last attempt. */
export function nextAttemptAtMs({
  tries,
  scheduleSeconds,
  retryAfter,
  nowMs,
  random,
}: FailedAttempt): number | undefined {
  const seconds = scheduleSeconds[tries - 1];
  if (seconds === undefined) return undefined;
  const delayMs = seconds * 1000 * (1 - jitter + 2 * jitter * random);
  return nowMs + Math.round(Math.max(delayMs, retryAfterMs(retryAfter, nowMs) ?? 0));
}

/**
 * Retry-After (RFC 9110 §10.2.3: seconds or a date) as milliseconds from now, at most a day; undefined if it is absent,
 * invalid or past.
 */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const asked = /^\d{1,12}$/.test(value.trim()) ? Number(value) * 1000 : httpDateMs(value.trim()) - nowMs;
  return Number.isNaN(asked) || asked <= 0 ? undefined : Math.min(asked, maxRetryAfterMs);
}

/** What an attempt means for the delivery and for its endpoint. */
export interface AttemptOutcome {
  status: DeliveryStatus;
  tries: number;
  nextAttemptAtMs: number | undefined;
  attempt: DeliveryAttempt;
  /** Label of the metric. */
  result: 'delivered' | 'refused' | 'gone' | 'blocked' | 'timeout' | 'connection';
  /** Set when the endpoint is to be disabled. */
  disableReason?: string;
  /** Nothing is sent to the endpoint until then, as it asked by Retry-After. */
  pauseUntilMs?: number;
}

export interface AttemptContext extends Omit<FailedAttempt, 'retryAfter'> {
  startedAtMs: number;
  /** Failed attempts before this one. */
  tries: number;
  failingSince: Webhook['failingSince'];
}

/** Decides what follows an attempt. Only a status of 2xx is success. */
export function evaluateAttempt(sent: SendResult, context: AttemptContext): AttemptOutcome {
  const { startedAtMs, nowMs, failingSince } = context;
  const attempt: DeliveryAttempt = {
    at: new Date(startedAtMs).toISOString(),
    httpStatus: sent.status,
    latencyMs: sent.latencyMs,
    response: sent.response,
    error: sent.kind === 'failed' ? sent.error : errorOf(sent.status),
  };
  if (attempt.error === null)
    return { status: 'DELIVERED', tries: 0, nextAttemptAtMs: undefined, attempt, result: 'delivered' };
  const isGone = sent.kind === 'replied' && sent.status === 410;
  const retryAfter = sent.kind === 'replied' ? sent.retryAfter : undefined;
  const tries = context.tries + 1;
  const next = isGone ? undefined : nextAttemptAtMs({ ...context, tries, retryAfter });
  const isFailingForDays = failingSince !== null && nowMs - failingSince.getTime() >= disableAfterMs;
  const pause = retryAfterMs(retryAfter, nowMs);
  return {
    status: next === undefined ? 'FAILED' : 'PENDING',
    tries,
    nextAttemptAtMs: next,
    attempt,
    result: isGone ? 'gone' : sent.kind === 'failed' ? sent.cause : 'refused',
    ...(isGone ? { disableReason: goneReason } : isFailingForDays && { disableReason: failingReason }),
    ...(pause !== undefined && { pauseUntilMs: nowMs + pause }),
  };
}

/** Null: success. */
function errorOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400
    ? `the endpoint redirects (${status}), which is not followed`
    : `the endpoint answered ${status}`;
}
