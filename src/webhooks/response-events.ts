import { type ResponseEventGroup, type ResponseEvents, responseEvents, type WebhookEvent } from '../domain/events.ts';
import { isCompleteOutcome } from '../domain/outcome.ts';
import type { AnswerRow } from '../domain/questions/contract.ts';
import type { ResponseHead } from '../domain/response-row.ts';
import type { Log } from '../log.ts';
import { isServerGeneratedId } from '../platform/ids.ts';
import type { Subscription } from '../stores/postgres/webhooks.ts';
import { addedAtMs } from '../stores/redis/intake/entry-id.ts';
import { decodeRowsOf } from '../stores/redis/intake/entry-rows.ts';
import type { StreamEntry } from '../stores/redis/intake/stream.ts';

/** The fields of a stream entry that are read. */
export type StoredEntry = Pick<StreamEntry, 'id' | 'surveyIds' | 'rows'>;

export interface ReadResponseEventsDeps {
  /** The endpoints of surveys, also those that are switched off. */
  findSubscriptions(surveyIds: readonly string[]): Promise<Subscription[]>;
  /** The collector by which a response came; null if it is not known. */
  collectorIdOf(surveyId: string, codes: AnswerRow['codes']): Promise<string | null>;
  now(): number;
  log: Pick<Log, 'warn'>;
}

/**
 * Reads from stored responses what endpoints listen to: `response.submitted` for the first version,
 * `response.completed` for the complete one, and deletions; by survey.
 */
export function createReadResponseEvents({ findSubscriptions, collectorIdOf, now, log }: ReadResponseEventsDeps) {
  return async (entries: readonly StoredEntry[]): Promise<ResponseEvents[]> => {
    const surveyIds = [...new Set(entries.flatMap((entry) => entry.surveyIds))];
    if (surveyIds.length === 0) return [];
    const surveys = collectBySurvey(await findSubscriptions(surveyIds), now());
    if (surveys.size === 0) return [];
    for (const entry of entries) {
      if (entry.rows.length === 0 || !entry.surveyIds.some((surveyId) => surveys.has(surveyId))) continue;
      for (const { head, row, isDeleted } of decodeRowsOf(entry, surveys, log)) {
        const survey = surveys.get(head.surveyId);
        if (isDeleted) survey?.addDeletion(head);
        else if (survey?.hasListeners)
          survey.add(head, await collectorIdOf(head.surveyId, row.codes), eventsOf(head, entry));
      }
    }
    return [...surveys.values()].flatMap((survey) => survey.read());
  };
}

export interface PublishedResponseEvents extends ResponseEvents {
  /** When they were written down; absent: now. */
  keptAt?: Date;
  /** Keys of events whose responses are deleted by later rows. */
  keysDeletedLater?: ReadonlySet<string>;
}

/**
 * Tells each row which responses the later rows of its survey delete, so that its events say so from the start, even if
 * the rows are then published one by one. `afterwards`: what rows that are published later delete, by survey.
 */
export function withLaterDeletions<Row extends ResponseEvents>(
  rows: readonly Row[],
  afterwards: ReadonlyMap<string, ReadonlySet<string>> = new Map(),
): (Row & { keysDeletedLater: ReadonlySet<string> })[] {
  const later = new Map(afterwards);
  return rows
    .toReversed()
    .map((row) => {
      const keysDeletedLater = later.get(row.surveyId) ?? new Set();
      if (row.deletedKeys.length > 0) later.set(row.surveyId, new Set([...keysDeletedLater, ...row.deletedKeys]));
      return { ...row, keysDeletedLater };
    })
    .reverse();
}

/** The events of groups, each with its key and data, in the order in which they happened. */
export function webhookEventsOf(row: PublishedResponseEvents): WebhookEvent[] {
  const { surveyId, groups, keptAt, deletedKeys, keysDeletedLater } = row;
  const deleted = new Set(deletedKeys);
  // Rows share what is deleted later, which may be much: it is not copied for each.
  const isDeleted = (key: string) => deleted.has(key) || keysDeletedLater?.has(key) === true;
  const events = groups.flatMap(({ event, outcome, collectorId, responses }) =>
    responses.map(([responseId, occurredAtMs, submittedAtMs]) => {
      const key = keyOf(event, { responseId, submittedAtMs });
      return {
        event,
        key,
        surveyId,
        occurredAt: new Date(occurredAtMs),
        ...(keptAt && { keptAt }),
        data: { surveyId, responseId, outcome, collectorId, ...(isDeleted(key) && { deleted: true }) },
      };
    }),
  );
  // `response.submitted` comes first where a response was complete at once.
  const place = ({ event }: WebhookEvent) => (event === 'response.submitted' ? 0 : 1);
  return events.sort(
    (one, other) => one.occurredAt.getTime() - other.occurredAt.getTime() || place(one) - place(other),
  );
}

/**
 * Divides events into pieces of up to `maxDeliveries` deliveries, those of one event together; deletions come last, as
 * they concern deliveries that are written by then.
 */
export function inPieces(events: ResponseEvents, maxDeliveries: number): ResponseEvents[] {
  const { webhookIds, groups, deletedKeys } = events;
  const atOnce = Math.max(1, Math.floor(maxDeliveries / Math.max(1, webhookIds.length)));
  const pieces: { groups: ResponseEventGroup[]; deletedKeys: string[]; count: number }[] = [];
  const roomIn = () => {
    const last = pieces.at(-1);
    if (last && last.count < atOnce) return last;
    const next = { groups: [], deletedKeys: [], count: 0 };
    pieces.push(next);
    return next;
  };
  for (const { responses, ...common } of groups)
    for (let from = 0; from < responses.length; ) {
      const piece = roomIn();
      const part = responses.slice(from, from + atOnce - piece.count);
      piece.groups.push({ ...common, responses: part });
      piece.count += part.length;
      from += part.length;
    }
  for (const key of deletedKeys) {
    const piece = roomIn();
    piece.deletedKeys.push(key);
    piece.count += 1;
  }
  return pieces.map((piece) => ({ ...events, groups: piece.groups, deletedKeys: piece.deletedKeys }));
}

/** For each survey that has endpoints. */
function collectBySurvey(subscriptions: readonly Subscription[], nowMs: number): Map<string, SurveyEvents> {
  const surveys = new Map<string, SurveyEvents>();
  for (const subscription of subscriptions) {
    const survey = surveys.get(subscription.surveyId) ?? new SurveyEvents(subscription.surveyId);
    surveys.set(subscription.surveyId, survey);
    survey.addListener(subscription, nowMs);
  }
  return surveys;
}

/** Collects what happened to the responses of a survey. */
class SurveyEvents {
  readonly #surveyId: string;
  readonly #webhookIds: string[] = [];
  /** Those that get no events of responses now: deletions concern what waits for them. */
  readonly #silentIds: string[] = [];
  readonly #names = new Set<string>();
  /** From then on some endpoint listens. */
  #sinceMs = Number.POSITIVE_INFINITY;
  readonly #groups = new Map<string, ResponseEventGroup>();
  readonly #deletedKeys = new Set<string>();

  constructor(surveyId: string) {
    this.#surveyId = surveyId;
  }

  get hasListeners(): boolean {
    return this.#webhookIds.length > 0;
  }

  addListener(listener: Subscription, nowMs: number): void {
    if (listener.isSilent || !listener.events.some(isResponseEvent)) {
      this.#silentIds.push(listener.webhookId);
      return;
    }
    this.#webhookIds.push(listener.webhookId);
    this.#sinceMs = Math.min(this.#sinceMs, listensSinceMs(listener, nowMs));
    for (const name of listener.events) this.#names.add(name);
  }

  add({ responseId, outcome, submittedAtMs }: ResponseHead, collectorId: string | null, happened: Happened[]): void {
    for (const { event, occurredAtMs } of happened) {
      if (occurredAtMs < this.#sinceMs || !this.#names.has(event)) continue;
      const content = `${event} ${outcome} ${collectorId}`;
      const group = this.#groups.get(content) ?? { event, outcome, collectorId, responses: [] };
      this.#groups.set(content, group);
      group.responses.push([responseId, occurredAtMs, submittedAtMs]);
    }
  }

  addDeletion(head: ResponseHead): void {
    for (const key of keysOf(head)) this.#deletedKeys.add(key);
  }

  read(): ResponseEvents[] {
    const [surveyId, groups, deletedKeys] = [this.#surveyId, [...this.#groups.values()], [...this.#deletedKeys]];
    const parts: ResponseEvents[] = [
      { surveyId, webhookIds: this.#webhookIds, groups, deletedKeys },
      { surveyId, webhookIds: this.#silentIds, groups: [], deletedKeys },
    ];
    return parts.filter((part) => part.webhookIds.length > 0 && part.groups.length + part.deletedKeys.length > 0);
  }
}

type ResponseEventName = ResponseEventGroup['event'];

interface Happened {
  event: ResponseEventName;
  occurredAtMs: number;
}

/**
 * From when on an endpoint gets events. One that was made later than now is of a clock that was set back since: it gets
 * all events, since one too many does less harm than one too few.
 */
export const listensSinceMs = ({ createdAt }: Pick<Subscription, 'createdAt'>, nowMs: number): number =>
  createdAt.getTime() > nowMs ? Number.NEGATIVE_INFINITY : createdAt.getTime();

const isResponseEvent = (event: string): boolean => responseEvents.some((name) => name === event);

/** A client-made id may name another response days later, so the time of submission is part of its key. */
function keyOf(
  event: ResponseEventName,
  { responseId, submittedAtMs }: Pick<ResponseHead, 'responseId' | 'submittedAtMs'>,
): string {
  return `${formerKeyOf(event, responseId)}${isServerGeneratedId(responseId) ? '' : `:${submittedAtMs}`}`;
}

/** As in `completed:RESPONSE_ID`. */
const formerKeyOf = (event: ResponseEventName, responseId: string) =>
  `${event.slice('response.'.length)}:${responseId}`;

/** All keys that a response's deliveries may have, also those of a former version, which had no time. */
const keysOf = (head: ResponseHead): string[] =>
  responseEvents.flatMap((event) => [formerKeyOf(event, head.responseId), keyOf(event, head)]);

/** The time in an entry's id. */
const acceptedAtMs = ({ id }: StoredEntry): number => addedAtMs(id);

function eventsOf(head: ResponseHead, entry: StoredEntry): Happened[] {
  const happened: Happened[] = [];
  if (head.version === 1) happened.push({ event: 'response.submitted', occurredAtMs: head.submittedAtMs });
  // A partial save that a full quota has ended has no time of completion.
  if (isCompleteOutcome(head.outcome))
    happened.push({ event: 'response.completed', occurredAtMs: head.completedAtMs || acceptedAtMs(entry) });
  return happened;
}
