import type { DeliveryAttempt, DeliveryStatus } from '../stores/postgres/webhook-deliveries.ts';
import type { Webhook } from '../stores/postgres/webhooks.ts';
import { nextAttemptAtMs, retryAfterMs } from './retry.ts';
import type { SendResult } from './send.ts';

/** What an attempt means for the delivery and for its endpoint. */
export interface AttemptOutcome {
  status: DeliveryStatus;
  tries: number;
  nextAttemptAtMs: number | undefined;
  attempt: DeliveryAttempt;
  /** How the attempt is counted. */
  result: 'delivered' | 'refused' | 'gone' | 'blocked' | 'timeout' | 'connection';
  /** Switch the endpoint off, and why. */
  disableReason?: string;
  /** Leave the endpoint alone until then, as it asked. */
  pauseUntilMs?: number;
}

export interface AttemptContext {
  startedAtMs: number;
  nowMs: number;
  tries: number;
  scheduleSeconds: readonly number[];
  random: number;
  failingSince: Webhook['failingSince'];
}

const fiveDaysMs = 5 * 86_400_000;
const goneReason = 'The endpoint answered 410 Gone';
const failingReason = 'Every delivery failed for five days';

/** Judges an attempt: only 2xx is success, 410 and five days of nothing but failures switch the endpoint off. Pure. */
export function evaluateAttempt(
  sent: SendResult,
  { startedAtMs, nowMs, tries, scheduleSeconds, random, failingSince }: AttemptContext,
): AttemptOutcome {
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
  const failed = tries + 1;
  const next = isGone ? undefined : nextAttemptAtMs({ tries: failed, scheduleSeconds, retryAfter, nowMs, random });
  const isHopeless = failingSince !== null && nowMs - failingSince.getTime() >= fiveDaysMs;
  const pause = retryAfterMs(retryAfter, nowMs);
  return {
    status: next === undefined ? 'FAILED' : 'PENDING',
    tries: failed,
    nextAttemptAtMs: next,
    attempt,
    result: isGone ? 'gone' : sent.kind === 'failed' ? sent.cause : 'refused',
    ...(isGone ? { disableReason: goneReason } : isHopeless && { disableReason: failingReason }),
    ...(pause !== undefined && { pauseUntilMs: nowMs + pause }),
  };
}

function errorOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400
    ? `the endpoint redirects (${status}), which is not followed`
    : `the endpoint answered ${status}`;
}
