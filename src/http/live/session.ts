import { decodeLiveCursor, encodeLiveCursor, type LivePosition } from '../../domain/live-cursor.ts';
import type { Survey } from '../../domain/survey.ts';
import { notFound, Problem, validationProblem, type ProblemCode } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { SurveyAccess } from '../dispatch.ts';
import type { Principal } from '../principal.ts';
import type { Feed } from './feed.ts';
import { createFollower, type Follower } from './follower.ts';
import { liveLimits } from './live-limits.ts';
import { frameOf, type Frame, type Outlet } from './outlet.ts';
import type { AnalyticsPushes } from './analytics-pushes.ts';

export type Channel = 'responses' | 'analytics' | 'status' | 'jobs';

export interface SessionDeps {
  access: SurveyAccess;
  feed: Feed;
  analytics: AnalyticsPushes;
  /** The frame that tells a survey's status. */
  statusFrame(survey: Survey): Frame;
  metrics: Pick<Metrics, 'liveSent' | 'liveLagged'>;
  log: Log;
}

export interface Wish {
  surveyId: string;
  channels: readonly Channel[];
  /** The cursor of the last event seen. */
  after?: string | undefined;
}

interface Subscription {
  channels: Set<Channel>;
  follower: Follower | undefined;
  stopAnalytics: (() => void) | undefined;
}

/** What one client listens to, whatever carries it. */
export function createSession(deps: SessionDeps, first: Principal, outlet: Outlet) {
  let principal = first;
  const subscriptions = new Map<string, Subscription>();

  const tell = (frame: Frame): void => outlet.write([frame]);
  const tellProblem = (code: ProblemCode, message: string, surveyId?: string): void => tell(frameOf('error', { code, message, ...(surveyId !== undefined && { surveyId }) }));

  const stop = (surveyId: string, subscription: Subscription, channels: readonly Channel[]): void => {
    for (const channel of channels) subscription.channels.delete(channel);
    if (!subscription.channels.has('responses')) {
      subscription.follower?.stop();
      subscription.follower = undefined;
    }
    if (!subscription.channels.has('analytics')) {
      subscription.stopAnalytics?.();
      subscription.stopAnalytics = undefined;
    }
    if (subscription.channels.size === 0) subscriptions.delete(surveyId);
  };

  const drop = (surveyId: string): void => {
    const subscription = subscriptions.get(surveyId);
    if (subscription) stop(surveyId, subscription, [...subscription.channels]);
  };

  const readable = async (surveyId: string): Promise<Survey> => {
    const survey = await deps.access.find('surveyId', surveyId);
    if (!survey || !(await deps.access.rightOf(principal, survey))) throw notFound('survey');
    return survey;
  };

  const positionOf = async (surveyId: string, after: string | undefined): Promise<LivePosition> => {
    const now = await deps.feed.now(surveyId);
    const given = after === undefined ? now : decodeLiveCursor(after);
    if (!given) throw validationProblem([{ path: 'after', message: 'is not a cursor of this service' }]);
    return given;
  };

  const startResponses = (surveyId: string, subscription: Subscription, { from, isNew }: { from: LivePosition; isNew: boolean }): void => {
    subscription.follower?.stop();
    const follower = createFollower({
      feed: deps.feed, outlet, log: deps.log, sent: deps.metrics.liveSent,
      lagged: (id, skipped) => {
        deps.metrics.liveLagged(skipped);
        tell(frameOf('lagged', { surveyId: id, skipped }));
      },
      missed: (id, { fromMs, toMs }) => tell(frameOf('missed', { surveyId: id, from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() })),
    }, surveyId, from);
    subscription.follower = follower;
    follower.start(isNew);
  };

  return {
    get principal() {
      return principal;
    },
    outlet, tell, tellProblem, drop,
    surveyIds: (): IterableIterator<string> => subscriptions.keys(),
    listensTo: (surveyId: string, channel: Channel): boolean => subscriptions.get(surveyId)?.channels.has(channel) ?? false,
    isSubscribed: (surveyId: string): boolean => subscriptions.has(surveyId),
    /** Where a client that listens to the responses of one survey goes on, if it has been sent all there is. */
    reached(): string | undefined {
      const [only] = subscriptions.values();
      const position = only?.follower?.reached();
      return position && encodeLiveCursor(position);
    },
    renew: (current: Principal): void => void (principal = current),

    /** Begins to listen, or listens to more of a survey. Throws a Problem when that may not be. */
    async subscribe({ surveyId, channels, after }: Wish): Promise<void> {
      if (!subscriptions.has(surveyId) && subscriptions.size >= liveLimits.subscriptions)
        throw new Problem('RATE_LIMITED', `A connection may listen to ${liveLimits.subscriptions} surveys`);
      const survey = await readable(surveyId);
      const from = await positionOf(surveyId, after);
      if (outlet.isOver) return;
      const subscription = subscriptions.get(surveyId) ?? { channels: new Set(), follower: undefined, stopAnalytics: undefined };
      subscriptions.set(surveyId, subscription);
      for (const channel of channels) subscription.channels.add(channel);
      const cursor = encodeLiveCursor(from);
      tell({ ...frameOf('subscribed', { surveyId, channels: [...subscription.channels], cursor }), cursor });
      if (channels.includes('status')) tell(deps.statusFrame(survey));
      if (channels.includes('analytics')) subscription.stopAnalytics ??= deps.analytics.join(surveyId, outlet);
      if (channels.includes('responses') && (!subscription.follower || after !== undefined)) startResponses(surveyId, subscription, { from, isNew: after === undefined });
    },

    unsubscribe(surveyId: string, channels?: readonly Channel[]): void {
      const subscription = subscriptions.get(surveyId);
      if (subscription) stop(surveyId, subscription, channels ?? [...subscription.channels]);
      tell(frameOf('unsubscribed', { surveyId }));
    },

    /** The connection is over. */
    close(): void {
      for (const surveyId of [...subscriptions.keys()]) drop(surveyId);
    },
  };
}

export type Session = ReturnType<typeof createSession>;
