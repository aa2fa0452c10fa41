import { setTimeout as sleep } from 'node:timers/promises';
import type { ResponseEvents } from '../domain/events.ts';
import type { Log } from '../log.ts';
import { isPostgresAway } from '../stores/postgres/errors.ts';
import { countEvents, type KeptEvents, type ResponseEventStore } from '../stores/postgres/webhook-response-events.ts';
import type { FanOut } from './fan-out.ts';
import type { Pace } from './pace.ts';
import { inPieces, type PublishedResponseEvents, webhookEventsOf, withLaterDeletions } from './response-events.ts';
import { createRateThrottle } from './throttle.ts';

/** Some 70 MB in PostgreSQL. */
const defaultMaxWaiting = 1_000_000;
const recountMs = 1000;
/** Deliveries that are written at once. */
const deliveriesAtOnce = 1000;
/** Deliveries of a row, and at least of a survey's turn; those of one event are not divided. */
const deliveriesInRow = 200;

export interface KeepEventsDeps {
  responseEvents: Pick<ResponseEventStore, 'add' | 'count'>;
  fanOut: Pick<FanOut, 'publishResponses' | 'markDeleted'>;
  log: Pick<Log, 'warn'>;
  /** Events that may wait; fewer in tests. */
  maxWaiting?: number;
}

/**
 * Keeps events of responses until the role jobs writes their deliveries. When too many wait, their deliveries are
 * written at once. Deletions mark what is written already, and always wait besides, behind the events that they concern.
 */
export function createKeepEvents({ responseEvents, fanOut, log, maxWaiting = defaultMaxWaiting }: KeepEventsDeps) {
  let waiting = 0;
  let countedAtMs = Number.NEGATIVE_INFINITY;
  return async (surveys: readonly ResponseEvents[]): Promise<void> => {
    if (surveys.length === 0) return;
    if (performance.now() - countedAtMs > recountMs) {
      waiting = await responseEvents.count();
      countedAtMs = performance.now();
    }
    const isFull = waiting + countAll(surveys) > maxWaiting;
    if (isFull)
      for (const survey of surveys) {
        const keysDeletedLater = new Set(survey.deletedKeys);
        for (const piece of inPieces({ ...survey, deletedKeys: [] }, deliveriesAtOnce))
          await fanOut.publishResponses([{ ...piece, keysDeletedLater }]);
      }
    const kept = isFull ? surveys.map((survey) => ({ ...survey, groups: [] })) : surveys;
    const rows = kept.flatMap((survey) => inPieces(survey, deliveriesInRow));
    waiting += countAll(rows);
    if (rows.length > 0) await responseEvents.add(rows);
    // When they are kept: what is written from then on finds them. Their rows may have their turn much later. It marks
    // too, so that a failure here, after which the caller would keep all of them again, is no failure of the call.
    const deletions = surveys.flatMap((survey) => inPieces({ ...survey, groups: [] }, deliveriesAtOnce));
    await fanOut
      .markDeleted(deletions)
      .catch((error: unknown) => log.warn({ err: error }, 'deliveries of deleted responses could not be marked yet'));
  };
}

const countAll = (rows: readonly ResponseEvents[]) => rows.reduce((sum, row) => sum + countEvents(row), 0);

export interface WriteDeliveriesDeps {
  responseEvents: Pick<ResponseEventStore, 'nextTurn' | 'supplyOf' | 'laterDeletions' | 'remove' | 'setBack'>;
  fanOut: Pick<FanOut, 'publishResponses' | 'markDeleted'>;
  pace: Pace;
  isStopping(): boolean;
  log: Pick<Log, 'warn'>;
  /** A clock that never steps back, and waits by it; another one in tests. */
  clock?: { nowMs(): number; wait(ms: number): Promise<unknown> };
}

const monotonicClock = { nowMs: () => performance.now(), wait: (ms: number) => sleep(ms) };

/** Writing so many deliveries costs as much as one request to an endpoint. */
const deliveriesPerRequest = 20;
/** The same while the pace is short, for endpoints that take one in a request: writing more would only be earlier. */
const shortDeliveriesPerRequest = 5;
/** A survey's turn is as many deliveries as the pace allows in this time: the others wait for it. */
const turnMs = 500;
/** A turn in which nothing is written keeps others waiting for so long. */
const emptyTurnMs = 100;
/** Endpoints that have as many deliveries as the pace sends in this time need no more of them. */
const suppliedForMs = 4000;
/** As many requests are no shortage: with a pace of more, deliveries are written without a look. */
const ampleRequests = 1000;
/** How often a wait looks whether the pace has changed. */
const pollMs = 100;
/** After this time the next run goes on, in the process that is the leader by then. */
const maxRunMs = 2000;
const pauseAfterFailureMs = 1000;

const countDeliveries = (rows: readonly KeptEvents[]) => rows.reduce((sum, row) => sum + row.deliveries, 0);

/**
 * Writes the deliveries of events that wait, as many a second as the pace of requests allows. Surveys take turns of
 * about as many deliveries each, so that none waits for all that another has; one whose endpoints have enough to send
 * loses its turn.
 */
export function createWriteDeliveries({
  responseEvents,
  fanOut,
  pace,
  isStopping,
  log,
  clock = monotonicClock,
}: WriteDeliveriesDeps) {
  const throttle = createRateThrottle(clock.nowMs);
  /** The survey that had the last turn; undefined before the first one. */
  let lastSurveyId: string | undefined;

  /** Waits until the pace allows a turn; false if that is not within this run. */
  const waitForTurn = async (untilMs: number): Promise<boolean> => {
    for (;;) {
      const waitMs = throttle.waitMs(pace.perSecond());
      if (isStopping() || clock.nowMs() + waitMs >= untilMs) return false;
      if (waitMs === 0) return true;
      await clock.wait(Math.min(waitMs, pollMs));
    }
  };

  /** Read when its time has come, so that a survey whose first event came meanwhile takes part. */
  const readTurn = async (): Promise<KeptEvents[]> => {
    const allowed = (pace.perSecond() * deliveriesPerRequest * turnMs) / 1000;
    const size = Math.floor(Math.max(deliveriesInRow, Math.min(deliveriesAtOnce, allowed)));
    const rows = await responseEvents.nextTurn(size, lastSurveyId);
    return rows.length > 0 || lastSurveyId === undefined ? rows : responseEvents.nextTurn(size);
  };

  /**
   * Marks what was written while the deletion of its response was kept: neither of the two could see the other. That may
   * have been at an earlier try, so those that are written as deleted now are among them.
   */
  const markDeletedMeanwhile = async (rows: readonly (PublishedResponseEvents & KeptEvents)[]): Promise<void> => {
    const written = rows.filter(({ groups }) => groups.length > 0);
    if (written.length === 0) return;
    const later = await responseEvents.laterDeletions(written);
    const marks = new Map<string, { webhookIds: readonly string[]; deletedKeys: string[] }>();
    for (const row of written) {
      const deleted = later.get(row.surveyId);
      if (!deleted) continue;
      const { webhookIds } = row;
      const mark = marks.get(webhookIds.join()) ?? { webhookIds, deletedKeys: [] };
      marks.set(webhookIds.join(), mark);
      for (const { key } of webhookEventsOf(row)) if (deleted.has(key)) mark.deletedKeys.push(key);
    }
    await fanOut.markDeleted([...marks.values()]);
  };

  /**
   * A row that cannot be published is set back, so that it keeps no others waiting; not while PostgreSQL is away. It is
   * found by halves; what they leave at the end of the run stays where it is.
   */
  const publish = async (rows: readonly (PublishedResponseEvents & KeptEvents)[], untilMs: number): Promise<void> => {
    try {
      await fanOut.publishResponses(rows, () => markDeletedMeanwhile(rows));
      await responseEvents.remove(rows.map(({ id }) => id));
    } catch (error) {
      if (isPostgresAway(error)) throw error;
      const [first, half] = [rows[0], Math.ceil(rows.length / 2)];
      if (rows.length > 1) {
        await publish(rows.slice(0, half), untilMs);
        if (!isStopping() && clock.nowMs() < untilMs) await publish(rows.slice(half), untilMs);
      } else if (first) {
        const { id, surveyId } = first;
        await responseEvents.setBack(id);
        log.warn({ err: error, surveyId, rowId: id }, 'deliveries of response events could not be written yet');
      }
    }
  };

  /**
   * The rows without those of surveys whose endpoints cannot send more, because their deliveries would cost what
   * submissions need; and as how many requests writing them counts. Deletions make no deliveries: they are left out only
   * behind an event that is.
   */
  const whatIsNeeded = async (rows: readonly KeptEvents[]): Promise<{ rows: readonly KeptEvents[]; cost: number }> => {
    const requests = (pace.perSecond() * suppliedForMs) / 1000;
    if (requests > ampleRequests) return { rows, cost: countDeliveries(rows) / deliveriesPerRequest };
    const supply = await responseEvents.supplyOf(
      rows.map(({ id }) => id),
      requests,
    );
    const surveysLeft = new Set<string>();
    const needed = rows.filter(({ surveyId, groups }) => {
      if (groups.length > 0 && supply.get(surveyId)?.isEnough) surveysLeft.add(surveyId);
      return !surveysLeft.has(surveyId);
    });
    const cost = needed.reduce((sum, { surveyId, deliveries }) => {
      const atOnce = supply.get(surveyId)?.hasBatches ? deliveriesPerRequest : shortDeliveriesPerRequest;
      return sum + deliveries / atOnce;
    }, 0);
    return { rows: needed, cost: Math.max(cost, (pace.perSecond() * emptyTurnMs) / 1000) };
  };

  /** False if nothing waits. */
  const takeTurn = async (untilMs: number): Promise<boolean> => {
    const rows = await readTurn();
    // Before it is published: after an error the next run goes on with the next survey.
    lastSurveyId = rows.at(-1)?.surveyId;
    if (rows.length === 0) return false;
    const { rows: needed, cost } = await whatIsNeeded(rows);
    throttle.take(pace.perSecond(), cost);
    pace.begin(cost);
    if (needed.length > 0)
      await publish(withLaterDeletions(needed, await responseEvents.laterDeletions(needed)), untilMs);
    return true;
  };

  return async (): Promise<void> => {
    const untilMs = clock.nowMs() + maxRunMs;
    try {
      while ((await waitForTurn(untilMs)) && (await takeTurn(untilMs)));
    } catch (error) {
      if (!isStopping()) await clock.wait(pauseAfterFailureMs);
      throw error;
    }
  };
}
