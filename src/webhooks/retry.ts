/** What is known when the next attempt is planned. */
export interface FailedAttempt {
  /** Failed attempts of this round, the present one included. */
  tries: number;
  /** Seconds between attempts. */
  scheduleSeconds: readonly number[];
  /** Value of the Retry-After header. */
  retryAfter?: string | undefined;
  nowMs: number;
  /** Uniform in [0, 1). */
  random: number;
}

const jitter = 0.2;
const maxRetryAfterMs = 86_400_000;

/** When to try again, in Unix milliseconds: the schedule ± 20 %, no sooner than Retry-After asks. Undefined: it was the last attempt. */
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

/** Retry-After (RFC 9110 §10.2.3: seconds or a date) as milliseconds from now, at most a day. Undefined if it says nothing. */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const asked = /^\d{1,12}$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isNaN(asked) || asked <= 0 ? undefined : Math.min(asked, maxRetryAfterMs);
}
