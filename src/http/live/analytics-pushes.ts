import type { Log } from '../../log.ts';
import { createSemaphore } from '../../platform/semaphore.ts';
import { type ClientStream, createLiveMessage, type LiveMessage } from './client-stream.ts';
import type { Feed } from './feed.ts';
import { createPacedWork, type PacedWork } from './paced-work.ts';

export interface AnalyticsPushesDeps {
  feed: Pick<Feed, 'onStored'>;
  /**
   * The analytics of the whole survey, as GET /analytics/surveys/{surveyId} gives them; undefined if there is no such
   * survey.
   */
  compute(surveyId: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Least time between two computations for one survey. */
  minIntervalMs?: number;
  /** Pause after notifications could not be subscribed to. */
  retryMs?: number;
  log: Log;
}

/** Computations of different surveys at once in this process; further ones wait. */
const maxAtOnce = 4;

interface SubscriberGroup {
  clients: Set<ClientStream>;
  /** Congested clients, which get the latest message when they have room again. */
  waiting: Set<ClientStream>;
  latest: LiveMessage | undefined;
  computing: PacedWork;
  unwatch: Promise<() => void>;
}

/** Computes the analytics of a survey after changes, at most once a second in this process, for all its subscribers. */
export function createAnalyticsPushes({
  feed,
  compute,
  minIntervalMs = 1000,
  retryMs = 1000,
  log,
}: AnalyticsPushesDeps) {
  const groups = new Map<string, SubscriberGroup>();
  const computations = createSemaphore({ concurrency: maxAtOnce });

  const refresh = async (surveyId: string, group: SubscriberGroup): Promise<void> => {
    // Subscribed before computing, so that no change is missed in between.
    await group.unwatch;
    const analytics = await computations.run(async () => (group.clients.size > 0 ? compute(surveyId) : undefined));
    if (!analytics) {
      group.latest = undefined;
      return;
    }
    group.latest = createLiveMessage('analytics', { surveyId, ...analytics });
    for (const client of group.clients) sendLatest(group, client);
  };

  /** A congested client gets the latest message when it has room again. */
  const sendLatest = (group: SubscriberGroup, client: ClientStream): void => {
    if (!group.latest) return;
    if (!client.isCongested) {
      client.write([group.latest]);
      return;
    }
    // At most one wait a client, so that one that never has room gathers nothing.
    if (group.waiting.has(client)) return;
    group.waiting.add(client);
    void client.whenWritable().then(() => {
      group.waiting.delete(client);
      // It may be congested anew by the message of another survey, which waited for the same room.
      if (!client.isOver && group.clients.has(client)) sendLatest(group, client);
    });
  };

  const open = (surveyId: string): SubscriberGroup => {
    const group: SubscriberGroup = {
      clients: new Set(),
      waiting: new Set(),
      latest: undefined,
      computing: createPacedWork(() => refresh(surveyId, group), {
        minIntervalMs,
        onFailure: (err) => log.warn({ err, surveyId }, 'analytics for live connections could not be computed'),
      }),
      unwatch: watch(surveyId, () => isOpen(surveyId, group) && !closeIfEmpty(surveyId, group)),
    };
    groups.set(surveyId, group);
    return group;
  };

  const watch = async (surveyId: string, isWanted: () => boolean): Promise<() => void> => {
    for (;;)
      try {
        return await feed.onStored(surveyId, () => touch(surveyId));
      } catch (error) {
        log.warn({ err: error, surveyId }, 'subscribing to storage notifications failed; it is retried');
        await new Promise((resolve) => setTimeout(resolve, retryMs));
        if (!isWanted()) return () => undefined;
      }
  };

  const isOpen = (surveyId: string, group: SubscriberGroup): boolean => groups.get(surveyId) === group;

  /** Whether nobody listens any more; who comes back opens another group. */
  const closeIfEmpty = (surveyId: string, group: SubscriberGroup): boolean => {
    if (group.clients.size > 0 || !isOpen(surveyId, group)) return false;
    group.computing.end();
    return groups.delete(surveyId);
  };

  /** Closed sooner, a group that is opened again would compute beside the former, and sooner than it may. */
  const closeAtRest = async (surveyId: string, group: SubscriberGroup): Promise<void> => {
    await group.computing.rest();
    if (closeIfEmpty(surveyId, group)) (await group.unwatch)();
  };

  const touch = (surveyId: string): void => groups.get(surveyId)?.computing.touch();

  return {
    /** Sends the analytics now and after every change. Returns a function that ends the subscription. */
    subscribe(surveyId: string, client: ClientStream): () => void {
      const group = groups.get(surveyId) ?? open(surveyId);
      group.clients.add(client);
      if (group.latest && !group.computing.isStale) sendLatest(group, client);
      else group.computing.touch();
      return () => {
        group.clients.delete(client);
        if (group.clients.size === 0) void closeAtRest(surveyId, group);
      };
    },
    /** To be called when something has changed that the analytics depend on. */
    touch,
    /** To be called when such a change may have been missed, of any survey. */
    touchAll(): void {
      for (const { computing } of groups.values()) computing.touch();
    },
  };
}

export type AnalyticsPushes = ReturnType<typeof createAnalyticsPushes>;
