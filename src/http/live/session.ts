import { decodeLiveCursor, encodeLiveCursor, type LivePosition } from '../../domain/live-cursor.ts';
import type { Survey } from '../../domain/survey.ts';
import { notFound, Problem, type ProblemCode, validationProblem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Principal } from '../routing/principal.ts';
import type { SurveyAccess } from '../routing/survey-access.ts';
import type { liveChannels } from '../schemas/live.ts';
import type { AnalyticsPushes } from './analytics-pushes.ts';
import { type ClientStream, createLiveMessage, type LiveMessage } from './client-stream.ts';
import type { Feed } from './feed.ts';
import { createFollower, type Follower } from './follower.ts';
import { liveLimits } from './live-limits.ts';
import type { QuotaPushes } from './quota-pushes.ts';

export type Channel = (typeof liveChannels)[number];

export interface SessionDeps {
  access: Pick<SurveyAccess, 'find' | 'rightOf'>;
  feed: Feed;
  analytics: AnalyticsPushes;
  quotas: Pick<QuotaPushes, 'subscribe'>;
  /** The `status` message of a survey. */
  statusMessage(survey: Survey): LiveMessage;
  metrics: Pick<Metrics, 'liveSent' | 'liveLagged'>;
  log: Log;
}

export interface SubscribeRequest {
  surveyId: string;
  channels: readonly Channel[];
  /** The cursor of the last event seen. */
  after?: string | undefined;
}

interface Subscription {
  channels: Set<Channel>;
  follower: Follower | undefined;
  stopAnalytics: (() => void) | undefined;
  stopQuotas: (() => void) | undefined;
  /** The newest `status` message, sent or waiting, and the revision of the survey that it tells of. */
  lastStatus: { text: string; revision: number } | undefined;
  /** The newest `status` message, while the client has no room for it. */
  waitingStatus: LiveMessage | undefined;
}

/** The subscriptions of one client, over WebSocket or server-sent events. */
export function createSession(deps: SessionDeps, initialPrincipal: Principal, client: ClientStream) {
  let principal = initialPrincipal;
  const subscriptions = new Map<string, Subscription>();

  const send = (liveMessage: LiveMessage): void => client.write([liveMessage]);
  const sendProblem = (code: ProblemCode, message: string, surveyId?: string): void =>
    send(createLiveMessage('error', { code, message, ...(surveyId !== undefined && { surveyId }) }));

  const endChannels = (surveyId: string, subscription: Subscription, channels: readonly Channel[]): void => {
    for (const channel of channels) subscription.channels.delete(channel);
    if (!subscription.channels.has('responses')) {
      subscription.follower?.stop();
      subscription.follower = undefined;
    }
    if (!subscription.channels.has('analytics')) {
      subscription.stopAnalytics?.();
      subscription.stopAnalytics = undefined;
    }
    if (!subscription.channels.has('status')) {
      subscription.stopQuotas?.();
      subscription.stopQuotas = undefined;
      subscription.waitingStatus = undefined;
    }
    if (subscription.channels.size === 0) subscriptions.delete(surveyId);
  };

  const endSubscription = (surveyId: string): void => {
    const subscription = subscriptions.get(surveyId);
    if (subscription) endChannels(surveyId, subscription, [...subscription.channels]);
  };

  const readableSurvey = async (surveyId: string): Promise<Survey> => {
    const survey = await deps.access.find('surveyId', surveyId);
    if (!survey || !(await deps.access.rightOf(principal, survey))) throw notFound('survey');
    return survey;
  };

  const sendWaitingStatus = async (subscription: Subscription): Promise<void> => {
    // It may be congested anew by the message of another survey, which waited for the same room.
    while (client.isCongested) await client.whenWritable();
    const { waitingStatus } = subscription;
    subscription.waitingStatus = undefined;
    if (waitingStatus && !client.isOver) send(waitingStatus);
  };

  /**
   * Sends the status to a client that listens to it, unless it was sent this or a later one. A congested client gets the
   * newest alone when it has room again, so that one that never has room gathers nothing.
   */
  const sendStatus = (survey: Survey, message = deps.statusMessage(survey)): void => {
    const subscription = subscriptions.get(survey.id);
    if (!subscription?.channels.has('status')) return;
    const { lastStatus } = subscription;
    if (lastStatus && (lastStatus.text === message.text || lastStatus.revision > survey.revision)) return;
    subscription.lastStatus = { text: message.text, revision: survey.revision };
    const isWaiting = subscription.waitingStatus !== undefined;
    if (!isWaiting && !client.isCongested) send(message);
    else {
      subscription.waitingStatus = message;
      if (!isWaiting) void sendWaitingStatus(subscription);
    }
  };

  /** The hub does not tell of changes between the first look at the survey and the entry of the subscription. */
  const checkAgain = async (surveyId: string, subscription: Subscription): Promise<void> => {
    try {
      sendStatus(await readableSurvey(surveyId));
    } catch (error) {
      // Otherwise the hub has ended it, or its next check looks again.
      if (subscriptions.get(surveyId) !== subscription || !(error instanceof Problem && error.code === 'NOT_FOUND'))
        return;
      endSubscription(surveyId);
      throw error;
    }
  };

  const startPosition = async (surveyId: string, after: string | undefined): Promise<LivePosition> => {
    if (after === undefined) return deps.feed.newestPosition(surveyId);
    const given = decodeLiveCursor(after);
    if (!given) throw validationProblem([{ path: 'after', message: 'is not a cursor of this service' }]);
    return given;
  };

  const startResponses = (
    surveyId: string,
    subscription: Subscription,
    { from, isNew }: { from: LivePosition; isNew: boolean },
  ): void => {
    subscription.follower?.stop();
    const follower = createFollower(
      {
        feed: deps.feed,
        client,
        log: deps.log,
        sent: deps.metrics.liveSent,
        lagged: (id, skipped) => {
          deps.metrics.liveLagged(skipped);
          send(createLiveMessage('lagged', { surveyId: id, skipped }));
        },
        missed: (id, { fromMs, toMs }) =>
          send(
            createLiveMessage('missed', {
              surveyId: id,
              from: new Date(fromMs).toISOString(),
              to: new Date(toMs).toISOString(),
            }),
          ),
      },
      surveyId,
      from,
    );
    subscription.follower = follower;
    follower.start(isNew);
  };

  return {
    get principal() {
      return principal;
    },
    client,
    send,
    sendStatus,
    sendProblem,
    /** Sends how far a job is; a congested client is told of its end alone. */
    sendJob(job: LiveMessage, isUnderWay: boolean): void {
      if (!isUnderWay || !client.isCongested) send(job);
    },
    endSubscription,
    surveyIds: (): IterableIterator<string> => subscriptions.keys(),
    hasChannel: (surveyId: string, channel: Channel): boolean =>
      subscriptions.get(surveyId)?.channels.has(channel) ?? false,
    isSubscribed: (surveyId: string): boolean => subscriptions.has(surveyId),
    /** The cursor from which a client of one survey's responses would resume, if it has been sent everything. */
    deliveredCursor(): string | undefined {
      const [only] = subscriptions.values();
      const position = only?.follower?.deliveredPosition();
      return position && encodeLiveCursor(position);
    },
    setPrincipal(current: Principal): void {
      principal = current;
    },

    /**
     * Subscribes to channels of a survey, in addition to those it has. Throws NOT_FOUND, RATE_LIMITED or
     * VALIDATION_ERROR.
     */
    async subscribe({ surveyId, channels, after }: SubscribeRequest): Promise<void> {
      if (!subscriptions.has(surveyId) && subscriptions.size >= liveLimits.subscriptions)
        throw new Problem('RATE_LIMITED', `A connection may listen to ${liveLimits.subscriptions} surveys`);
      const survey = await readableSurvey(surveyId);
      const from = await startPosition(surveyId, after);
      const stopQuotas = channels.includes('status') ? await deps.quotas.subscribe(surveyId) : undefined;
      if (client.isOver) {
        stopQuotas?.();
        return;
      }
      const subscription = subscriptions.get(surveyId) ?? {
        channels: new Set(),
        follower: undefined,
        stopAnalytics: undefined,
        stopQuotas: undefined,
        lastStatus: undefined,
        waitingStatus: undefined,
      };
      subscriptions.set(surveyId, subscription);
      for (const channel of channels) subscription.channels.add(channel);
      if (subscription.stopQuotas) stopQuotas?.();
      else subscription.stopQuotas = stopQuotas;
      const isStartedOver = channels.includes('responses') && after !== undefined;
      const running = isStartedOver ? undefined : subscription.follower;
      // The newest position may be ahead of what a running follower has sent.
      const cursor = encodeLiveCursor(running?.resumePosition() ?? from);
      send({ ...createLiveMessage('subscribed', { surveyId, channels: [...subscription.channels], cursor }), cursor });
      if (channels.includes('status')) {
        subscription.lastStatus = undefined;
        sendStatus(survey);
      }
      if (channels.includes('analytics')) subscription.stopAnalytics ??= deps.analytics.subscribe(surveyId, client);
      if (channels.includes('responses') && !running)
        startResponses(surveyId, subscription, { from, isNew: after === undefined });
      await checkAgain(surveyId, subscription);
    },

    unsubscribe(surveyId: string, channels?: readonly Channel[]): void {
      const subscription = subscriptions.get(surveyId);
      if (subscription) endChannels(surveyId, subscription, channels ?? [...subscription.channels]);
      send(createLiveMessage('unsubscribed', { surveyId }));
    },

    /** To be called when the connection has ended. */
    close(): void {
      for (const surveyId of [...subscriptions.keys()]) endSubscription(surveyId);
    },
  };
}

export type Session = ReturnType<typeof createSession>;
