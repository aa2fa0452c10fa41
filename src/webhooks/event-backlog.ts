import { countResponseEvents, type ResponseEvents } from '../domain/events.ts';
import type { ResponseEventStore } from '../stores/postgres/webhook-response-events.ts';
import type { FanOut } from './fan-out.ts';
import type { Pace } from './pace.ts';
import { createRateThrottle } from './throttle.ts';

/** Some 70 MB in PostgreSQL. */
const defaultMaxWaiting = 1_000_000;
const recountMs = 1000;

export interface KeepEventsDeps {
  responseEvents: Pick<ResponseEventStore, 'add' | 'count'>;
  fanOut: Pick<FanOut, 'publishResponses'>;
  /** Events that may wait; fewer in tests. */
  maxWaiting?: number;
}

/**
 * Keeps events of responses in one row a batch, until the role jobs writes their deliveries. When too many wait, their
 * deliveries are written at once.
 */
export function createKeepEvents({ responseEvents, fanOut, maxWaiting = defaultMaxWaiting }: KeepEventsDeps) {
  let waiting = 0;
  let countedAtMs = Number.NEGATIVE_INFINITY;
  return async (batch: ResponseEvents): Promise<void> => {
    if (performance.now() - countedAtMs > recountMs) {
      waiting = await responseEvents.count();
      countedAtMs = performance.now();
    }
    waiting += countResponseEvents(batch);
    if (waiting <= maxWaiting) await responseEvents.add(batch);
    else await fanOut.publishResponses(batch);
  };
}

export interface WriteDeliveriesDeps {
  responseEvents: Pick<ResponseEventStore, 'oldest' | 'remove'>;
  fanOut: Pick<FanOut, 'publishResponses'>;
  pace: Pace;
  isStopping(): boolean;
}

/** Events that are read at once; a stop repeats them at the next start. */
const eventsAtOnce = 200;
/** Writing so many deliveries costs as much as one request to an endpoint. */
const deliveriesPerRequest = 20;
/** How often a wait looks whether the pace has changed. */
const pollMs = 100;

/** Writes the deliveries of all events that wait, as many a second as the pace of requests allows. */
export function createWriteDeliveries({ responseEvents, fanOut, pace, isStopping }: WriteDeliveriesDeps) {
  const throttle = createRateThrottle();
  const perSecond = () => pace.perSecond() * deliveriesPerRequest;

  const waitForTurn = async (deliveries: number): Promise<boolean> => {
    for (let waitMs = throttle.waitMs(perSecond()); waitMs > 0; waitMs = throttle.waitMs(perSecond())) {
      if (isStopping()) return false;
      await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, pollMs)));
    }
    throttle.take(perSecond(), deliveries);
    pace.begin(deliveries / deliveriesPerRequest);
    return !isStopping();
  };

  return async (): Promise<void> => {
    while (!isStopping()) {
      const waiting = await responseEvents.oldest(eventsAtOnce);
      if (!waiting || !(await fanOut.publishResponses(waiting, waitForTurn))) return;
      await responseEvents.remove(waiting.ids);
    }
  };
}
