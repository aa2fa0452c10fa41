import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log.ts';
import { createLruCache } from '../platform/lru-cache.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { DeliveryStore } from '../stores/postgres/webhook-deliveries.ts';
import { leaseAheadMs, type Webhook, type WebhookStore } from '../stores/postgres/webhooks.ts';
import { type AttemptOutcome, evaluateAttempt } from './attempt-outcome.ts';
import { createDueMessages } from './due-messages.ts';
import { bodyOf, type Message } from './message.ts';
import { createOutcomeWriter } from './outcome-writer.ts';
import { secretContext } from './secret-context.ts';
import { createEndpointAgent, type EndpointAgent, type Send, socketsPerEndpoint } from './send.ts';
import { signedHeaders } from './sign.ts';
import { createRateThrottle } from './throttle.ts';

export interface DeliverDeps {
  webhooks: Pick<WebhookStore, 'lease' | 'renewLease' | 'release' | 'markFailing' | 'pause' | 'disable'>;
  deliveries: Pick<DeliveryStore, 'findDue' | 'findPendingOfBatch' | 'bindBatch' | 'saveResults'>;
  send: Send;
  secrets: Pick<Secrets, 'open'>;
  scheduleSeconds: readonly number[];
  metrics: { webhookAttempted(result: AttemptOutcome['result']): void };
  log: Log;
  now(): number;
  random(): number;
  newId(): string;
}

/** After a crash nobody delivers to the endpoint for this long. */
const leaseMs = 6000;
const renewMs = 1500;
/** Without renewal no attempt begins any more this long before the lease ends. */
const safetyMarginMs = 2500;
/** After this time another job goes on, so that endpoints without end let others in. */
const sliceMs = 20_000;
const maxAgents = 1000;
/** Who waits for a turn looks this often whether the run is lost. */
const pollMs = 200;

/** What one process needs to deliver to one endpoint for a while. */
interface DeliveryRun {
  webhook: Webhook;
  agent: EndpointAgent;
  secrets: readonly string[];
  /** When another job should go on. */
  sliceUntil: number;
  /** How long its pace holds the next event back; 0 without one. */
  turnInMs(): number;
  /** When that is, for the row; null: at once. */
  nextTurnAt(): Date | null;
  /** An event that stands for so many others goes now, unless the turn is given back. */
  takeTurn(events: number): () => void;
  /** Keeps the endpoint, and writes down its next turn; a failure is left to the lease. */
  renew(): Promise<void>;
  /** Nothing may be sent any more. */
  isLost(): boolean;
  /** Nothing should be begun any more. */
  isOver(): boolean;
  end(): void;
}

/** Delivers what is due, endpoint by endpoint: each with its own lease, connections and pace, so that none waits for another. */
export function createDeliverer(deps: DeliverDeps) {
  const { webhooks, deliveries, send, metrics, log, now } = deps;
  const agents = createLruCache<EndpointAgent>(maxAgents, (agent) => agent.destroy());
  const throttles = createLruCache<ReturnType<typeof createRateThrottle>>(maxAgents);
  /** Endpoints at hand. A lease that ran out while PostgreSQL was away must not let this process in twice. */
  const inProgress = new Set<string>();
  let isStopping = false;
  let isAborted = false;

  const attempt = async ({ webhook, agent, secrets, end }: DeliveryRun, message: Message): Promise<AttemptOutcome> => {
    const startedAtMs = now();
    const body = bodyOf(message);
    const headers = signedHeaders(
      { webhookId: message.webhookId, timestamp: Math.floor(startedAtMs / 1000), body },
      secrets,
    );
    const sent = await send({ url: webhook.url, headers, body, agent });
    const tries = Math.max(...message.deliveries.map((delivery) => delivery.tries));
    const verdict = evaluateAttempt(sent, {
      startedAtMs,
      nowMs: now(),
      tries,
      scheduleSeconds: deps.scheduleSeconds,
      random: deps.random(),
      failingSince: webhook.failingSince,
    });
    metrics.webhookAttempted(verdict.result);
    if (verdict.disableReason !== undefined || verdict.pauseUntilMs !== undefined) end();
    return verdict;
  };

  /** Notes what the attempt says of the endpoint itself; only changes are written. */
  const recordEndpointState = async ({ webhook }: DeliveryRun, verdict: AttemptOutcome): Promise<void> => {
    if (verdict.disableReason !== undefined) {
      log.warn({ webhookId: webhook.id, reason: verdict.disableReason }, 'a webhook endpoint was disabled');
      await webhooks.disable(webhook.id, { at: new Date(now()), reason: verdict.disableReason });
    }
    if (verdict.pauseUntilMs !== undefined) await webhooks.pause(webhook.id, new Date(verdict.pauseUntilMs));
    const isDelivered = verdict.status === 'DELIVERED';
    if (isDelivered === (webhook.failingSince === null)) return;
    webhook.failingSince = isDelivered ? null : new Date(now());
    await webhooks.markFailing(webhook.id, webhook.failingSince);
  };

  const sendLoop = async (
    run: DeliveryRun,
    waiting: ReturnType<typeof createDueMessages>,
    settler: ReturnType<typeof createOutcomeWriter>,
  ): Promise<void> => {
    while (!run.isOver()) {
      await settler.waitForRoom();
      const message = await waiting.next(run.isOver);
      if (!message) return;
      if (!(await waitForTurn(run, message))) return waiting.done(message);
      const verdict = await attempt(run, message);
      // We cut it ourselves: the endpoint is not to blame, and the delivery stays due.
      if (isAborted && verdict.result === 'connection') return waiting.done(message);
      await recordEndpointState(run, verdict).catch((error: unknown) =>
        log.warn({ err: error, webhookId: run.webhook.id }, "an endpoint's state could not be written"),
      );
      void settler.add(message, verdict).then(() => waiting.done(message));
    }
  };

  /** Waits until the endpoint's pace lets the message go; false when it should not be sent by this run. A turn that would come after its slice is left to another. */
  const waitForTurn = async (
    { webhook, sliceUntil, turnInMs, takeTurn, renew, isLost, isOver }: DeliveryRun,
    message: Message,
  ): Promise<boolean> => {
    if (webhook.maxPerSecond === null) return !isOver();
    for (let waitMs = 1; waitMs > 0 && !isLost(); ) {
      waitMs = turnInMs();
      if (performance.now() + waitMs > sliceUntil) return false;
      if (waitMs > 0) await sleep(Math.min(waitMs, pollMs));
    }
    if (isLost()) return false;
    const giveBack = takeTurn(message.deliveries.length);
    // Should this process die now, its lease alone would keep others away for less long.
    if (turnInMs() > safetyMarginMs) await renew();
    if (!isLost()) return true;
    giveBack();
    return false;
  };

  /** The turns of one run: not before that which the row names, since another process may have had those before it. */
  const turnScheduleOf = ({
    id,
    maxPerSecond,
    nextSendAt: noted,
  }: Webhook): Pick<DeliveryRun, 'turnInMs' | 'nextTurnAt' | 'takeTurn'> => {
    if (maxPerSecond === null) return { turnInMs: () => 0, nextTurnAt: () => null, takeTurn: () => () => undefined };
    const pace = throttles.getOrCreate(id, createRateThrottle);
    const notBefore = performance.now() + (noted ? noted.getTime() - now() : 0);
    const turnInMs = () => Math.max(pace.waitMs(maxPerSecond), notBefore - performance.now(), 0);
    const nextTurnAt = () => (turnInMs() > 0 ? new Date(Math.ceil(now() + turnInMs())) : null);
    return { turnInMs, nextTurnAt, takeTurn: (events) => pace.take(maxPerSecond, events) };
  };

  const deliverUntilDone = async (
    webhook: Webhook,
    holder: string,
    turns: ReturnType<typeof turnScheduleOf>,
  ): Promise<'idle' | 'more'> => {
    const sliceUntil = performance.now() + sliceMs;
    let safeUntil = performance.now() + leaseMs - safetyMarginMs;
    let isEnded = false;
    const isLost = () => isEnded || isStopping || performance.now() > safeUntil;
    const renew = (): Promise<void> => {
      const askedAt = performance.now();
      return webhooks
        .renewLease({
          webhookId: webhook.id,
          holder,
          nowMs: now(),
          untilMs: now() + leaseMs,
          asOf: webhook.updatedAt,
          nextSendAt: turns.nextTurnAt(),
        })
        .then(
          (isKept) => void (isKept ? (safeUntil = askedAt + leaseMs - safetyMarginMs) : run.end()),
          () => undefined,
        );
    };
    const run: DeliveryRun = {
      webhook,
      agent: agents.getOrCreate(webhook.id, createEndpointAgent),
      secrets: secretsOf(webhook, deps),
      ...turns,
      sliceUntil,
      renew,
      isLost,
      isOver: () => isLost() || performance.now() > sliceUntil,
      end: () => void (isEnded = true),
    };
    const renewal = setInterval(() => void renew(), renewMs);
    const waiting = createDueMessages({ deliveries, webhook, now, newId: deps.newId });
    const settler = createOutcomeWriter({ settle: deliveries.saveResults, log });
    const failing = (error: unknown) => {
      run.end();
      throw error;
    };
    // One lane's trouble ends the others, but is told only when all have ended: until then the endpoint is ours, or another run would send what they have sent.
    const loops = Array.from({ length: socketsPerEndpoint }, () => sendLoop(run, waiting, settler).catch(failing));
    const ends = await Promise.allSettled(loops);
    await settler.flush();
    clearInterval(renewal);
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
    // A turn that comes just after the slice is waited for by the next run.
    const isTurnLeft = webhook.maxPerSecond !== null && performance.now() > sliceUntil - leaseAheadMs;
    return (run.isOver() || isTurnLeft) && !isEnded ? 'more' : 'idle';
  };

  const withLease = async (webhookId: string): Promise<'idle' | 'more'> => {
    const holder = deps.newId();
    const webhook = await webhooks.lease({ webhookId, holder, nowMs: now(), untilMs: now() + leaseMs });
    if (!webhook) return 'idle';
    const turns = turnScheduleOf(webhook);
    try {
      return await deliverUntilDone(webhook, holder, turns);
    } finally {
      await webhooks
        .release({ webhook, at: turns.nextTurnAt() }, holder)
        .catch((error: unknown) =>
          log.warn({ err: error, webhookId }, 'releasing the lease of an endpoint failed, it expires by itself'),
        );
    }
  };

  return {
    /** Works off what is due for an endpoint. `more`: there may be more at once; another job should follow. */
    async drain(webhookId: string): Promise<'idle' | 'more'> {
      if (isStopping || inProgress.has(webhookId)) return 'idle';
      inProgress.add(webhookId);
      return withLease(webhookId).finally(() => inProgress.delete(webhookId));
    },
    /** No attempt begins any more; those under way end. */
    stop(): void {
      isStopping = true;
    },
    /** Cuts the attempts that are under way; their deliveries stay due. */
    abort(): void {
      isStopping = isAborted = true;
      agents.clear();
    },
  };
}

export type Deliverer = ReturnType<typeof createDeliverer>;

/** What was sealed under a former SECRETS_KEY cannot be read: the present secret has to be rotated then, and those that it replaced are left out. */
function secretsOf(webhook: Webhook, { secrets, now }: Pick<DeliverDeps, 'secrets' | 'now'>): string[] {
  const open = (sealed: Uint8Array): string | undefined => {
    try {
      return secrets.open(sealed, secretContext(webhook.id));
    } catch {
      return undefined;
    }
  };
  const present = open(webhook.secretSealed);
  if (present === undefined)
    throw new Error(
      'the secret of this endpoint was sealed under another SECRETS_KEY: rotate it, and what waits is sent',
    );
  const former = webhook.oldSecrets.filter(({ until }) => until.getTime() > now());
  return [present, ...former.flatMap(({ sealed }) => open(sealed) ?? [])];
}
