import type { Log } from '../log.ts';
import type { Webhook } from '../stores/postgres/webhook-row.ts';
import type { LeaseRenewal, WebhookStore } from '../stores/postgres/webhooks.ts';
import { type RateThrottle, type SendTurns, turnsOf } from './throttle.ts';

export interface LeaseDeps {
  webhooks: Pick<WebhookStore, 'lease' | 'release'>;
  renewals: LeaseRenewals;
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

/** A lease that is renewed. */
interface HeldLease {
  /** Says what a renewal stores at this moment: the next turn changes with each message. */
  renewal(): LeaseRenewal;
  renewed(isKept: boolean, requestedAtMs: number): void;
}

/** Renews the leases of a process together: under load, a statement for each costs more than what is sent. */
export function createLeaseRenewals(webhooks: Pick<WebhookStore, 'renewLeases'>) {
  const held = new Set<HeldLease>();
  let renewing: ReturnType<typeof setInterval> | undefined;
  const renew = async (leases: readonly HeldLease[]): Promise<void> => {
    const requestedAtMs = performance.now();
    const renewals = leases.map((lease) => lease.renewal());
    const kept = await webhooks.renewLeases(renewals).catch(() => undefined);
    for (const [index, lease] of leases.entries()) {
      const isKept = kept?.get(renewals[index]?.webhookId ?? '');
      if (isKept !== undefined) lease.renewed(isKept, requestedAtMs);
    }
  };
  return {
    renew: (lease: HeldLease): Promise<void> => renew([lease]),
    begin(lease: HeldLease): void {
      held.add(lease);
      renewing ??= setInterval(() => void renew([...held]), renewMs);
    },
    end(lease: HeldLease): void {
      held.delete(lease);
      if (held.size > 0) return;
      clearInterval(renewing);
      renewing = undefined;
    },
  };
}

export type LeaseRenewals = ReturnType<typeof createLeaseRenewals>;

/**
 * Leases an endpoint and renews the lease until it is released; undefined when another process has it or nothing is to
 * be sent.
 */
export async function leaseEndpoint(
  webhookId: string,
  { webhooks, renewals, throttleOf, now, newId, log }: LeaseDeps,
): Promise<EndpointLease | undefined> {
  const holder = newId();
  const webhook = await webhooks.lease({ webhookId, holder, leaseMs, now: new Date(now()) });
  if (!webhook) return undefined;
  const turns = turnsOf(webhook, throttleOf(webhookId), now);
  let safeUntil = performance.now() + leaseMs - safetyMarginMs;
  let isEnded = false;
  const held: HeldLease = {
    renewal: () => ({ webhookId, holder, leaseMs, asOf: webhook.updatedAt, nextSendAt: turns.nextAt() }),
    renewed(isKept, requestedAtMs) {
      if (isKept) safeUntil = requestedAtMs + leaseMs - safetyMarginMs;
      else isEnded = true;
    },
  };
  renewals.begin(held);

  return {
    webhook,
    turns,
    renew: () => renewals.renew(held),
    isLost: () => isEnded || performance.now() > safeUntil,
    isEnded: () => isEnded,
    end() {
      isEnded = true;
    },
    async release() {
      renewals.end(held);
      await webhooks
        .release({ webhook, at: turns.nextAt() }, holder)
        .catch((error: unknown) =>
          log.warn({ err: error, webhookId }, 'releasing the lease of an endpoint failed, it expires by itself'),
        );
    },
  };
}
