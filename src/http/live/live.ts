import type { TemplatedApp } from 'uWebSockets.js';
import type { Core } from '../../actors/core.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { createTickets } from '../../stores/redis/tickets.ts';
import type { Stores } from '../../stores/stores.ts';
import type { SurveyAccess } from '../dispatch.ts';
import type { Limits } from '../limits.ts';
import type { People } from '../people.ts';
import type { Principal } from '../principal.ts';
import type { OpenBody } from '../reply.ts';
import type { Route } from '../route.ts';
import { liveRoutes } from '../routes/live.ts';
import { analyseSurvey } from '../../stores/survey-analytics.ts';
import { createAnalyticsPushes } from './analytics-pushes.ts';
import { openEventStream } from './event-stream.ts';
import { createFeed } from './feed.ts';
import { createHub } from './hub.ts';
import { liveLimits } from './live-limits.ts';
import { addLiveSocket } from './socket.ts';

export interface LiveOptions {
  stores: Stores;
  core: Core;
  people: People;
  access: SurveyAccess;
  limits: Limits;
  metrics: Metrics;
  addressOf(socketAddress: string, forwardedFor: string | undefined): string;
  /** Origins whose pages may connect, besides the service's own. */
  origins: readonly string[];
  log: Log;
}

export interface Live {
  routes: Route[];
  /** Adds the WebSocket. */
  extend(app: Pick<TemplatedApp, 'ws'>, basePath: string): void;
  /** Hears of what happens in other processes. */
  listen(): Promise<void>;
  /** Sends every client away, with advice when to come back. */
  drain(): void;
}

/** Live streams of one process: feed, pushes, sessions, and the two ways to them. */
export function createLive({ stores, core, people, access, limits, metrics, addressOf, origins, log }: LiveOptions): Live {
  let isDraining = false;
  const feed = createFeed({ stream: stores.live, shards: stores.shards, actors: core.actors, log });
  const analytics = createAnalyticsPushes({
    feed, log,
    compute: async (surveyId) => {
      const survey = await stores.surveys.load(surveyId);
      return survey && analyseSurvey(stores.totals, survey);
    },
  });
  const hub = createHub({ people, access, now: core.now, log });
  const tickets = createTickets<Principal>(stores.sharedRedis);
  const session = { access, feed, analytics, statusFrame: hub.statusFrame, metrics, log, hub };
  return {
    routes: liveRoutes({ tickets, openEventStream: (principal: Principal, body: OpenBody) => openEventStream(session, principal, body) }),
    extend: (app, basePath) => addLiveSocket(app, `${basePath}/live`, { ...session, tickets, people, limits, addressOf, origins, isDraining: () => isDraining }),
    async listen() {
      await stores.liveNews.onStored(feed.wake);
      await stores.liveNews.onJobProgress(hub.jobMoved);
      const late = (error: unknown): void => log.debug({ err: error }, 'a change will be told with the next look at rights');
      await stores.rightsNews.onChange((change) => void hub.rightsChanged(change).catch(late));
      await core.onSurveyChanged((surveyId) => {
        analytics.touch(surveyId);
        hub.surveyChanged(surveyId).catch(late);
      });
    },
    drain() {
      isDraining = true;
      hub.stop();
      for (const member of hub.all()) member.goAway(Math.round(Math.random() * liveLimits.reconnectWithinMs));
      feed.stop();
    },
  };
}
