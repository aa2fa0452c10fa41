import { httpDateMs } from '../../../src/platform/http-date.ts';

const firstMs = 1000;
const longestMs = 60_000;
/** The service is not waited for longer. */
const longestRetryAfterSeconds = 3600;

/**
 * How long to wait before the next attempt: doubling with full jitter, at least half of each step, at most a minute.
 * What the service asked for (`Retry-After`, in seconds) is never undercut; browsers that were refused together spread
 * over some seconds more.
 */
function retryDelayMs(failures: number, retryAfterSeconds: number | undefined, random: () => number): number {
  const step = Math.min(longestMs, firstMs * 2 ** Math.max(0, failures - 1));
  const jittered = step / 2 + (random() * step) / 2;
  return retryAfterSeconds === undefined ? jittered : retryAfterSeconds * 1000 + random() * Math.min(step, 5000);
}

/** The seconds of a Retry-After header, or those until its date. */
export function retryAfterOf(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header.trim()) ? Number(header) : (httpDateMs(header.trim()) - nowMs) / 1000;
  return Number.isFinite(seconds) ? Math.min(longestRetryAfterSeconds, Math.max(0, seconds)) : undefined;
}

/** Milliseconds until a draft may be sent again; 0 after the clock was set back by more than the service can ask for. */
export function restMsOf(notBefore = 0): number {
  const restMs = notBefore - Date.now();
  return restMs > longestRetryAfterSeconds * 1000 ? 0 : Math.max(0, restMs);
}

/** When the next attempt may be made, on the clock of the page, which nobody sets. */
export class Backoff {
  #failures = 0;
  #notBefore = 0;
  /** What the service asked for, which nothing undercuts. */
  #refusedUntil = 0;

  get hasFailed(): boolean {
    return this.#failures > 0;
  }

  /** Milliseconds until the next attempt; 0: now. */
  get restMs(): number {
    return Math.max(0, this.#notBefore - performance.now());
  }

  fail(retryAfterSeconds: number | undefined): void {
    this.#failures += 1;
    this.#notBefore = performance.now() + retryDelayMs(this.#failures, retryAfterSeconds, Math.random);
    this.#refusedUntil = performance.now() + (retryAfterSeconds ?? 0) * 1000;
  }

  /** The service has asked another page for this rest. */
  restAtLeast(ms: number): void {
    if (ms === 0) return;
    this.#refusedUntil = Math.max(this.#refusedUntil, performance.now() + ms);
    this.#notBefore = Math.max(this.#notBefore, this.#refusedUntil);
  }

  succeed(): void {
    this.#failures = 0;
    this.#notBefore = this.#refusedUntil;
  }

  /** The network is back: nothing is waited for but what the service asked for. */
  cutShort(): void {
    this.#notBefore = Math.min(this.#notBefore, Math.max(this.#refusedUntil, performance.now()));
  }
}
