import type { TemplatedApp } from 'uWebSockets.js';
import type { Core } from '../../actors/core.ts';
import { activeQuotas } from '../../domain/quotas/cell-quota.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { createTickets } from '../../stores/redis/websocket-tickets.ts';
import type { Stores } from '../../stores/stores.ts';
import { analyseSurvey } from '../../stores/survey-analytics.ts';
import type { Authentication } from '../authentication.ts';
import { liveRoutes } from '../routes/live.ts';
import type { Principal } from '../routing/principal.ts';
import type { RateLimits } from '../routing/rate-limits.ts';
import type { Route } from '../routing/route.ts';
import type { SurveyAccess } from '../routing/survey-access.ts';
import type { StreamingBody } from '../server/reply.ts';
import { createAnalyticsPushes } from './analytics-pushes.ts';
import { openEventStream } from './event-stream.ts';
import { createFeed } from './feed.ts';
import { createHub } from './hub.ts';
import { liveLimits } from './live-limits.ts';
import { createQuotaPushes } from './quota-pushes.ts';
import { addLiveWebSocket } from './websocket.ts';

export interface LiveOptions {
  stores: Stores;
  core: Core;
  authentication: Authentication;
  access: Pick<SurveyAccess, 'find' | 'rightOf'>;
  limits: RateLimits;
  metrics: Metrics;
  addressOf(socketAddress: string, forwardedFor: string | undefined): string;
  /** Origins whose pages may connect, besides the service's own. */
  origins: readonly string[];
  publicUrl: string | undefined;
  /** Live streams that one user may have in this process. */
  maxStreamsPerUser: number;
  log: Log;
}

export interface Live {
  routes: Route[];
  /** Adds the WebSocket. */
  addWebSocket(app: Pick<TemplatedApp, 'ws'>, basePath: string): void;
  /** Subscribes to notifications of other processes. */
  subscribe(): Promise<void>;
  /** Ends every connection and asks the clients to come back later. */
  drain(): void;
}

/** Puts the live streams of one process together: feed, analytics, hub, and the two transports. */
export function createLive({
  stores,
  core,
  authentication,
  access,
  limits,
  metrics,
  addressOf,
  origins,
  publicUrl,
  maxStreamsPerUser,
  log,
}: LiveOptions): Live {
  let isDraining = false;
  const feed = createFeed({ stream: stores.live, shards: stores.shards, actors: core.actors, log });
  const analytics = createAnalyticsPushes({
    feed,
    log,
    compute: async (surveyId) => {
      const survey = await stores.surveys.load(surveyId);
      return survey && analyseSurvey(stores.totals, survey);
    },
  });
  const quotas = createQuotaPushes({
    feed,
    log,
    read: async (surveyId) => {
      const active = activeQuotas((await core.currentSurvey(surveyId))?.survey.quotas);
      if (active.length === 0) return undefined;
      const { counts, isSettled } = await stores.intake.quotas.state(surveyId);
      return {
        quotas: active.map(({ id, code, limit }) => ({ id, count: counts.get(code)?.count ?? 0, limit })),
        isSettled,
      };
    },
    publish: (surveyId) =>
      void hub
        .quotasChanged(surveyId)
        .catch((error: unknown) => log.debug({ err: error, surveyId }, 'changed quotas could not be published')),
  });
  const hub = createHub({
    authentication,
    access,
    now: core.now,
    maxStreamsPerUser,
    quotasOf: quotas.latest,
    log,
  });
  const tickets = createTickets<Principal>(stores.sharedRedis);
  const sessionDeps = { access, feed, analytics, quotas, statusMessage: hub.statusMessage, metrics, log, hub };
  return {
    routes: liveRoutes({
      tickets,
      admit: hub.admit,
      openEventStream: (principal: Principal, body: StreamingBody) => openEventStream(sessionDeps, principal, body),
    }),
    addWebSocket: (app, basePath) =>
      addLiveWebSocket(app, `${basePath}/live`, {
        ...sessionDeps,
        tickets,
        authentication,
        limits,
        addressOf,
        origins,
        publicUrl,
        isDraining: () => isDraining,
      }),
    async subscribe() {
      core.onSurveyChangesMissed(() => {
        analytics.touchAll();
        quotas.touchAll();
      });
      const logDelayed = (error: unknown): void =>
        log.debug({ err: error }, 'a change could not be published; the next periodic rights check publishes it');
      await Promise.all([
        stores.liveNotifications.onStored(feed.wake),
        stores.liveNotifications.onJobProgress(hub.publishJobProgress),
        stores.permissionNotifications.onChange((change) => void hub.rightsChanged(change).catch(logDelayed)),
        core.onSurveyChanged((surveyId) => {
          analytics.touch(surveyId);
          quotas.touch(surveyId);
          hub.surveyChanged(surveyId).catch(logDelayed);
        }),
      ]);
    },
    drain() {
      isDraining = true;
      hub.stop();
      for (const member of hub.all()) member.askToReconnect(Math.round(Math.random() * liveLimits.reconnectWithinMs));
      feed.stop();
    },
  };
}
