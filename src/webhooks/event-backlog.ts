import { setTimeout as sleep } from 'node:timers/promises';
import type { ResponseEvents } from '../domain/events.ts';
import type { Log } from '../log.ts';
import { isPostgresAway } from '../stores/postgres/errors.ts';
import { countEvents, type KeptEvents, type ResponseEventStore } from '../stores/postgres/webhook-response-events.ts';
import type { FanOut } from './fan-out.ts';
import type { Pace } from './pace.ts';
import { inPieces, withLaterDeletions } from './response-events.ts';
import { createRateThrottle } from './throttle.ts';

/** Some 70 MB in PostgreSQL. */
const defaultMaxWaiting = 1_000_000;
const recountMs = 1000;
/** Deliveries that are written at once; those of one event are not divided. */
const deliveriesAtOnce = 1000;

export interface KeepEventsDeps {
  responseEvents: Pick<ResponseEventStore, 'add' | 'count'>;
  fanOut: Pick<FanOut, 'publishResponses'>;
  /** Events that may wait; fewer in tests. */
  maxWaiting?: number;
}

/**
 * Keeps events of responses until the role jobs writes their deliveries. When too many wait, their deliveries are
 * written at once. Deletions always wait, behind the events that they concern.
 */
export function createKeepEvents({ responseEvents, fanOut, maxWaiting = defaultMaxWaiting }: KeepEventsDeps) {
  let waiting = 0;
  let countedAtMs = Number.NEGATIVE_INFINITY;
  return async (surveys: readonly ResponseEvents[]): Promise<void> => {
    if (surveys.length === 0) return;
    if (performance.now() - countedAtMs > recountMs) {
      waiting = await responseEvents.count();
      countedAtMs = performance.now();
    }
    const pieces = surveys.flatMap((survey) => inPieces(survey, deliveriesAtOnce));
    const isFull = waiting + countAll(pieces) > maxWaiting;
    if (isFull) for (const piece of pieces) await fanOut.publishResponses([{ ...piece, deletedKeys: [] }]);
    const kept = isFull ? pieces.filter(hasDeletions).map((piece) => ({ ...piece, groups: [] })) : pieces;
    waiting += countAll(kept);
    if (kept.length > 0) await responseEvents.add(kept);
  };
}

const hasDeletions = ({ deletedKeys }: ResponseEvents) => deletedKeys.length > 0;

const countAll = (rows: readonly ResponseEvents[]) => rows.reduce((sum, row) => sum + countEvents(row), 0);

export interface WriteDeliveriesDeps {
  responseEvents: Pick<ResponseEventStore, 'oldest' | 'remove' | 'setBack'>;
  fanOut: Pick<FanOut, 'publishResponses'>;
  pace: Pace;
  isStopping(): boolean;
  log: Pick<Log, 'warn'>;
}

/** Surveys that are read at once. */
const surveysAtOnce = 50;
/** Writing so many deliveries costs as much as one request to an endpoint. */
const deliveriesPerRequest = 20;
/** How often a wait looks whether the pace has changed. */
const pollMs = 100;
/** After this time the next run goes on, in the process that is the leader by then. */
const maxRunMs = 2000;
const pauseAfterFailureMs = 1000;

/**
 * Writes the deliveries of events that wait, as many a second as the pace of requests allows. Surveys take turns of
 * `deliveriesAtOnce`, so that none waits for all that another has.
 */
export function createWriteDeliveries({ responseEvents, fanOut, pace, isStopping, log }: WriteDeliveriesDeps) {
  const throttle = createRateThrottle();
  /** The survey that had the last turn; undefined before the first one. */
  let lastSurveyId: string | undefined;
  const perSecond = () => pace.perSecond() * deliveriesPerRequest;

  const waitForTurn = async (deliveries: number): Promise<void> => {
    for (let waitMs = throttle.waitMs(perSecond()); waitMs > 0; waitMs = throttle.waitMs(perSecond())) {
      if (isStopping()) return;
      await sleep(Math.min(waitMs, pollMs));
    }
    throttle.take(perSecond(), deliveries);
    pace.begin(deliveries / deliveriesPerRequest);
  };

  /** A row that cannot be published is set back, so that it keeps no others waiting; not while PostgreSQL is away. */
  const publish = async (rows: readonly KeptEvents[]): Promise<void> => {
    try {
      await fanOut.publishResponses(rows);
      await responseEvents.remove(rows.map(({ id }) => id));
    } catch (error) {
      if (isPostgresAway(error)) throw error;
      if (rows.length > 1) for (const row of rows) await publish([row]);
      else
        for (const { id, surveyId } of rows) {
          await responseEvents.setBack(id);
          log.warn({ err: error, surveyId, rowId: id }, 'deliveries of response events could not be written yet');
        }
    }
  };

  /** The next turn of some surveys; false after the last of them. */
  const takeTurns = async (): Promise<boolean> => {
    const rows = await responseEvents.oldest(surveysAtOnce, lastSurveyId);
    for (const turn of inTurns(rows)) {
      await waitForTurn(turn.reduce((sum, { deliveries }) => sum + deliveries, 0));
      if (isStopping()) return false;
      // Before it is published: after an error the next run goes on with the next survey.
      lastSurveyId = turn.at(-1)?.surveyId;
      await publish(withLaterDeletions(turn));
    }
    if (rows.length === surveysAtOnce) return true;
    const wasFirst = lastSurveyId === undefined;
    lastSurveyId = undefined;
    return rows.length > 0 || !wasFirst;
  };

  return async (): Promise<void> => {
    const until = performance.now() + maxRunMs;
    try {
      while (!isStopping() && performance.now() < until && (await takeTurns()));
    } catch (error) {
      if (!isStopping()) await sleep(pauseAfterFailureMs);
      throw error;
    }
  };
}

/** Rows together that make up to `deliveriesAtOnce`. */
function inTurns(rows: readonly KeptEvents[]): KeptEvents[][] {
  const turns: KeptEvents[][] = [];
  let room = 0;
  for (const row of rows) {
    const last = turns.at(-1);
    if (last && row.deliveries <= room) last.push(row);
    else {
      turns.push([row]);
      room = deliveriesAtOnce;
    }
    room -= row.deliveries;
  }
  return turns;
}
