import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log.ts';
import { createLruCache } from '../platform/lru-cache.ts';
import type { Secrets } from '../platform/secrets.ts';
import { createSemaphore, type Semaphore } from '../platform/semaphore.ts';
import type { DeliveryResult, SendingDeliveryStore } from '../stores/postgres/webhook-deliveries.ts';
import type { Webhook } from '../stores/postgres/webhook-row.ts';
import { leaseAheadMs, type WebhookStore } from '../stores/postgres/webhooks.ts';
import { bodyOf, createDueMessages, createOutcomeWriter, type Message } from './delivery-queue.ts';
import { createLeaseRenewals, type EndpointLease, leaseEndpoint, safetyMarginMs } from './lease.ts';
import { createRequestLimiter, type RequestLimits } from './request-limit.ts';
import { type AttemptOutcome, evaluateAttempt } from './retry.ts';
import { maxEndpoints, type Send, socketsPerEndpoint } from './send.ts';
import { openSecrets, signedHeaders, UnreadableSecret } from './sign.ts';
import { createRateThrottle, type RateThrottle } from './throttle.ts';

export interface DeliverDeps {
  webhooks: Pick<WebhookStore, 'lease' | 'renewLeases' | 'release' | 'markFailing' | 'pause' | 'disable'>;
  deliveries: Pick<
    SendingDeliveryStore,
    'findDue' | 'findPendingOfBatch' | 'bindBatch' | 'saveResults' | 'saveResultsUnsynced'
  >;
  send: Send;
  /** Cuts the connections of all endpoints. */
  cutConnections(): void;
  requestLimits: RequestLimits;
  secrets: Pick<Secrets, 'open'>;
  /** Seconds before each retry, see `retry.ts`. */
  scheduleSeconds: readonly number[];
  metrics: { webhookAttempted(result: AttemptOutcome['result']): void };
  log: Log;
  now(): number;
  random(): number;
  newId(): string;
}

/** After this time another job continues, so that endpoints with endless work let others in. */
const sliceMs = 20_000;
/** An endpoint whose secret cannot be read is tried each second, and reported this often. */
const secretReportMs = 300_000;
/**
 * With a pace of fewer requests a second, each outcome would be a commit of its own on the disk that submissions need,
 * and the few that a crash of PostgreSQL undoes are sent again.
 */
const shortPacePerSecond = 100;
/** How often a loop that waits for its turn checks whether its lease is lost. */
const pollMs = 200;

/** One lease at work. */
interface DeliveryRun {
  lease: EndpointLease;
  secrets: readonly string[];
  messages: ReturnType<typeof createDueMessages>;
  outcomes: ReturnType<typeof createOutcomeWriter>;
  /** Lets one message at a time wait for the endpoint's rate. */
  turnTaker: Semaphore;
  /** On the monotonic clock, in milliseconds. */
  sliceUntil: number;
  /** Whether nothing may be sent any more. */
  isLost(): boolean;
  /** Whether nothing should be started any more. */
  isOver(): boolean;
}

/**
 * Sends due deliveries, endpoint by endpoint: each has its own lease, connections and rate, so that none waits for
 * another.
 */
export function createDeliverer(deps: DeliverDeps) {
  const { webhooks, deliveries, send, metrics, log, now } = deps;
  const requestLimiter = createRequestLimiter(deps.requestLimits);
  const renewals = createLeaseRenewals(webhooks);
  const throttles = createLruCache<RateThrottle>(maxEndpoints);
  /** When it was last reported that the secret of an endpoint cannot be read. */
  const unreadableSecrets = createLruCache<number>(maxEndpoints);
  /** Endpoints of this process. A lease that ran out while PostgreSQL was away must not let it in twice. */
  const inProgress = new Set<string>();
  let isStopping = false;
  let isAborted = false;

  const throttleOf = (webhookId: string): RateThrottle => throttles.getOrCreate(webhookId, () => createRateThrottle());

  const attempt = async ({ lease, secrets }: DeliveryRun, message: Message): Promise<AttemptOutcome> => {
    const startedAtMs = now();
    const body = bodyOf(message);
    const timestamp = Math.floor(startedAtMs / 1000);
    const headers = signedHeaders({ webhookId: message.webhookId, timestamp, body }, secrets);
    const sent = await send({ endpointId: lease.webhook.id, url: lease.webhook.url, headers, body });
    const outcome = evaluateAttempt(sent, {
      startedAtMs,
      nowMs: now(),
      tries: Math.max(...message.deliveries.map((delivery) => delivery.tries)),
      scheduleSeconds: deps.scheduleSeconds,
      random: deps.random(),
      failingSince: lease.webhook.failingSince,
    });
    metrics.webhookAttempted(outcome.result);
    if (outcome.disableReason !== undefined || outcome.pauseUntilMs !== undefined) lease.end();
    return outcome;
  };

  /** Writes what the attempt means for the endpoint itself; only changes. */
  const saveEndpointState = async (webhook: Webhook, outcome: AttemptOutcome): Promise<void> => {
    const { disableReason: reason, pauseUntilMs } = outcome;
    if (reason !== undefined && (await webhooks.disable(webhook, { at: new Date(now()), reason })))
      log.warn({ webhookId: webhook.id, reason }, 'a webhook endpoint was disabled');
    if (pauseUntilMs !== undefined) await webhooks.pause(webhook, new Date(pauseUntilMs));
    const isDelivered = outcome.status === 'DELIVERED';
    if (isDelivered === (webhook.failingSince === null)) return;
    webhook.failingSince = isDelivered ? null : new Date(now());
    await webhooks.markFailing(webhook, webhook.failingSince);
  };

  /**
   * Waits until the endpoint's rate allows a message; false when this run should not send it, as its turn comes after
   * the slice.
   */
  const waitForTurn = async ({ lease, sliceUntil, isLost, isOver }: DeliveryRun): Promise<boolean> => {
    const { webhook, turns } = lease;
    if (webhook.maxPerSecond === null) return !isOver();
    for (let waitMs = 1; waitMs > 0 && !isLost(); ) {
      waitMs = turns.waitMs();
      if (performance.now() + waitMs > sliceUntil) return false;
      if (waitMs > 0) await sleep(Math.min(waitMs, pollMs));
    }
    return !isLost();
  };

  /** False if the lease was lost meanwhile. */
  const takeTurn = async ({ lease, isLost }: DeliveryRun, message: Message): Promise<boolean> => {
    const { turns } = lease;
    const giveBack = turns.take(message.deliveries.length);
    // If this process died now, its lease would keep others away for less than the turn takes.
    if (turns.waitMs() > safetyMarginMs) await lease.renew();
    if (!isLost()) return true;
    giveBack();
    return false;
  };

  /** Waits until the message may go out. The returned function ends its place among the requests. */
  const begin = async (run: DeliveryRun, message: Message): Promise<(() => void) | undefined> => {
    if (!(await waitForTurn(run))) return undefined;
    const { id: endpointId, url } = run.lease.webhook;
    const release = await requestLimiter.acquire({ host: new URL(url).hostname, endpointId }, run.isLost);
    if (!release || (await takeTurn(run, message))) return release;
    release();
    return undefined;
  };

  /** Undefined when the message was not sent: its turn comes after the slice, or the lease was lost. */
  const sendInTurn = async (run: DeliveryRun, message: Message): Promise<AttemptOutcome | undefined> => {
    // One after the other: turns that are taken before requests wait for the host would be used at the same moment.
    const release =
      run.lease.webhook.maxPerSecond === null
        ? await begin(run, message)
        : await run.turnTaker.run(() => begin(run, message));
    return release && attempt(run, message).finally(release);
  };

  const sendLoop = async (run: DeliveryRun): Promise<void> => {
    const { lease, messages, outcomes } = run;
    while (!run.isOver()) {
      await outcomes.waitForRoom();
      const message = await messages.next(run.isOver);
      if (!message) return;
      const outcome = await sendInTurn(run, message);
      if (!outcome) return messages.done(message);
      // The stop cut the connection: the endpoint is not to blame, and the delivery stays due.
      if (isAborted && outcome.result === 'connection') return messages.done(message);
      await saveEndpointState(lease.webhook, outcome).catch((error: unknown) =>
        log.warn({ err: error, webhookId: lease.webhook.id }, "an endpoint's state could not be written"),
      );
      void outcomes.add(message, outcome).then(() => messages.done(message));
    }
  };

  const deliverUntilDone = async (lease: EndpointLease): Promise<'idle' | 'more'> => {
    const { webhook } = lease;
    const sliceUntil = performance.now() + sliceMs;
    const isLost = () => isStopping || lease.isLost();
    /** Failures at the former address of a changed endpoint leave their deliveries due: this run must not send them. */
    const saveResults = async (results: readonly DeliveryResult[]): Promise<void> => {
      const isPaceShort = deps.requestLimits.pace.perSecond() < shortPacePerSecond;
      const save = isPaceShort ? deliveries.saveResultsUnsynced : deliveries.saveResults;
      if ((await save(results, webhook.updatedAt)) === 'endpoint changed') lease.end();
    };
    const run: DeliveryRun = {
      lease,
      secrets: openSecrets(webhook, deps.secrets, now()),
      messages: createDueMessages({ deliveries, webhook, now, newId: deps.newId }),
      outcomes: createOutcomeWriter({ saveResults, log }),
      turnTaker: createSemaphore({ concurrency: 1 }),
      sliceUntil,
      isLost,
      isOver: () => isLost() || performance.now() > sliceUntil,
    };
    const endLease = (error: unknown) => {
      lease.end();
      throw error;
    };
    // An error ends all loops, and is thrown when they have ended: until then the endpoint is ours, or another run
    // would repeat what they send.
    const loops = Array.from({ length: socketsPerEndpoint }, () => sendLoop(run).catch(endLease));
    const ends = await Promise.allSettled(loops);
    await run.outcomes.flush();
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
    // A turn that comes just after the slice is left to the next run, which waits for it.
    const isTurnLeft = webhook.maxPerSecond !== null && performance.now() > sliceUntil - leaseAheadMs;
    return (run.isOver() || isTurnLeft) && !lease.isEnded() ? 'more' : 'idle';
  };

  const deliverTo = async (webhookId: string): Promise<'idle' | 'more'> => {
    const lease = await leaseEndpoint(webhookId, { ...deps, renewals, throttleOf });
    if (!lease) return 'idle';
    try {
      return await deliverUntilDone(lease);
    } catch (error) {
      if (!(error instanceof UnreadableSecret)) throw error;
      if (Math.abs(now() - (unreadableSecrets.get(webhookId) ?? Number.NEGATIVE_INFINITY)) < secretReportMs)
        return 'idle';
      unreadableSecrets.set(webhookId, now());
      throw error;
    } finally {
      await lease.release();
    }
  };

  return {
    /** Sends what is due for an endpoint. `more`: another job should continue at once. */
    async drain(webhookId: string): Promise<'idle' | 'more'> {
      if (isStopping || inProgress.has(webhookId)) return 'idle';
      inProgress.add(webhookId);
      return deliverTo(webhookId).finally(() => inProgress.delete(webhookId));
    },
    /** Lets no further attempt begin; those under way end. */
    stop(): void {
      isStopping = true;
    },
    /** Cuts the attempts under way; their deliveries stay due. */
    abort(): void {
      isStopping = isAborted = true;
      deps.cutConnections();
    },
  };
}
