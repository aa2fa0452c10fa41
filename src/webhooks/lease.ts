import type { Log } from '../log.ts';
import type { Webhook } from '../stores/postgres/webhook-row.ts';
import type { WebhookStore } from '../stores/postgres/webhooks.ts';
import { type RateThrottle, type SendTurns, turnsOf } from './throttle.ts';

export interface LeaseDeps {
  webhooks: Pick<WebhookStore, 'lease' | 'renewLease' | 'release'>;
  throttleOf(webhookId: string): RateThrottle;
  now(): number;
  newId(): string;
  log: Log;
}

/** The right to be the only process that sends to an endpoint. */
export interface EndpointLease {
  webhook: Webhook;
  turns: SendTurns;
  /**
   * Extends the lease and stores the next turn. Failures are ignored: the lease ends by itself when all renewals fail.
   */
  renew(): Promise<void>;
  /** Whether no attempt may begin any more. */
  isLost(): boolean;
  /** Whether the endpoint has changed, or was disabled or paused: whoever delivers next must read its row again. */
  isEnded(): boolean;
  /**
   * Lets no further attempt begin. The lease is renewed until `release`, so that attempts under way are not repeated.
   */
  end(): void;
  /** Lets other processes have the endpoint, from its next turn on. */
  release(): Promise<void>;
}

/** How long an endpoint stays leased without renewal: after a crash nobody sends to it for this long. */
const leaseMs = 6000;
const renewMs = 1500;
/** Without renewal no attempt begins this long before the lease ends. */
export const safetyMarginMs = 2500;

/**
 * Leases an endpoint and renews the lease until it is released; undefined when another process has it or nothing is to
 * be sent.
 */
export async function leaseEndpoint(
  webhookId: string,
  { webhooks, throttleOf, now, newId, log }: LeaseDeps,
): Promise<EndpointLease | undefined> {
  const holder = newId();
  const webhook = await webhooks.lease({ webhookId, holder, leaseMs, now: new Date(now()) });
  if (!webhook) return undefined;
  const turns = turnsOf(webhook, throttleOf(webhookId), now);
  let safeUntil = performance.now() + leaseMs - safetyMarginMs;
  let isEnded = false;

  const renew = async (): Promise<void> => {
    const requestedAtMs = performance.now();
    const renewal = { webhookId, holder, leaseMs, asOf: webhook.updatedAt, nextSendAt: turns.nextAt() };
    const isKept = await webhooks.renewLease(renewal).catch(() => undefined);
    if (isKept) safeUntil = requestedAtMs + leaseMs - safetyMarginMs;
    else if (isKept === false) isEnded = true;
  };
  const renewing = setInterval(() => void renew(), renewMs);

  return {
    webhook,
    turns,
    renew,
    isLost: () => isEnded || performance.now() > safeUntil,
    isEnded: () => isEnded,
    end() {
      isEnded = true;
    },
    async release() {
      clearInterval(renewing);
      await webhooks
        .release({ webhook, at: turns.nextAt() }, holder)
        .catch((error: unknown) =>
          log.warn({ err: error, webhookId }, 'releasing the lease of an endpoint failed, it expires by itself'),
        );
    },
  };
}
