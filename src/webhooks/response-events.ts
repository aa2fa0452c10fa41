import { type ResponseEventGroup, type ResponseEvents, responseEvents, type WebhookEvent } from '../domain/events.ts';
import { isCompleteOutcome } from '../domain/outcome.ts';
import type { AnswerRow } from '../domain/questions/contract.ts';
import type { ResponseHead } from '../domain/response-row.ts';
import type { Log } from '../log.ts';
import { isServerGeneratedId } from '../platform/ids.ts';
import type { Subscription, WebhookStore } from '../stores/postgres/webhooks.ts';
import { decodeRowsOf } from '../stores/redis/intake/entry-rows.ts';
import type { StreamEntry } from '../stores/redis/intake/stream.ts';

/** The fields of a stream entry that are read. */
export type StoredEntry = Pick<StreamEntry, 'id' | 'surveyIds' | 'rows'>;

export interface ReadResponseEventsDeps {
  webhooks: Pick<WebhookStore, 'findSubscriptions'>;
  /** The collector by which a response came; null if it is not known. */
  collectorIdOf(surveyId: string, codes: AnswerRow['codes']): Promise<string | null>;
  log: Pick<Log, 'warn'>;
}

/**
 * Reads from stored responses what endpoints listen to: `response.submitted` for the first version,
 * `response.completed` for the complete one, and deletions. Undefined if no endpoint listens.
 */
export function createReadResponseEvents({ webhooks, collectorIdOf, log }: ReadResponseEventsDeps) {
  return async (entries: readonly StoredEntry[]): Promise<ResponseEvents | undefined> => {
    const surveyIds = [...new Set(entries.flatMap((entry) => entry.surveyIds))];
    if (surveyIds.length === 0) return undefined;
    const wanted = eventNamesBySurvey(await webhooks.findSubscriptions(surveyIds));
    if (wanted.size === 0) return undefined;
    const groups = createGroups();
    const deletedKeys: string[] = [];
    for (const entry of entries) {
      if (entry.rows.length === 0 || !entry.surveyIds.some((surveyId) => wanted.has(surveyId))) continue;
      for (const { head, row, isDeleted } of decodeRowsOf(entry, wanted, log)) {
        if (isDeleted) {
          deletedKeys.push(...keysOf(head));
          continue;
        }
        const collectorId = await collectorIdOf(head.surveyId, row.codes);
        for (const happened of eventsOf(head, entry))
          if (wanted.get(head.surveyId)?.has(happened.event)) groups.add(head, collectorId, happened);
      }
    }
    if (groups.all().length + deletedKeys.length === 0) return undefined;
    return { surveyIds: [...wanted.keys()], groups: groups.all(), deletedKeys };
  };
}

/** The events of groups, each with its key and data, in the order in which they happened. */
export function webhookEventsOf(groups: readonly ResponseEventGroup[]): WebhookEvent[] {
  const events = groups.flatMap(({ event, surveyId, outcome, collectorId, responses }) =>
    responses.map(([responseId, occurredAtMs, submittedAtMs]) => ({
      event,
      key: keyOf(event, { responseId, submittedAtMs }),
      surveyId,
      occurredAt: new Date(occurredAtMs),
      data: { surveyId, responseId, outcome, collectorId },
    })),
  );
  // Of a response that was complete at once, `response.submitted` comes first.
  const place = ({ event }: WebhookEvent) => (event === 'response.submitted' ? 0 : 1);
  return events.sort(
    (one, other) => one.occurredAt.getTime() - other.occurredAt.getTime() || place(one) - place(other),
  );
}

/** Names of the events that endpoints of each survey listen to; without surveys of whose responses none is wanted. */
function eventNamesBySurvey(subscriptions: readonly Subscription[]): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const { surveyId, events } of subscriptions)
    if (events.some(isResponseEvent)) names.set(surveyId, new Set([...(names.get(surveyId) ?? []), ...events]));
  return names;
}

function createGroups() {
  const byContent = new Map<string, ResponseEventGroup>();
  return {
    add(head: ResponseHead, collectorId: string | null, { event, occurredAtMs }: Happened): void {
      const { surveyId, responseId, outcome, submittedAtMs } = head;
      const content = `${event} ${surveyId} ${outcome} ${collectorId}`;
      const group = byContent.get(content) ?? { event, surveyId, outcome, collectorId, responses: [] };
      byContent.set(content, group);
      group.responses.push([responseId, occurredAtMs, submittedAtMs]);
    },
    all: (): ResponseEventGroup[] => [...byContent.values()],
  };
}

type ResponseEventName = ResponseEventGroup['event'];

interface Happened {
  event: ResponseEventName;
  occurredAtMs: number;
}

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
const acceptedAtMs = ({ id }: StoredEntry): number => Number(id.split('-', 1)[0]);

function eventsOf(head: ResponseHead, entry: StoredEntry): Happened[] {
  const happened: Happened[] = [];
  if (head.version === 1) happened.push({ event: 'response.submitted', occurredAtMs: head.submittedAtMs });
  // A partial save that a full quota has ended has no time of completion.
  if (isCompleteOutcome(head.outcome))
    happened.push({ event: 'response.completed', occurredAtMs: head.completedAtMs || acceptedAtMs(entry) });
  return happened;
}
