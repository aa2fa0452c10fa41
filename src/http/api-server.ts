import { readFileSync } from 'node:fs';
import { createWordingChanges } from '../actors/wording-changes.ts';
import { assetPath } from '../platform/assets.ts';
import type { DrainDelay } from '../platform/drain-delay.ts';
import { newId } from '../platform/ids.ts';
import { transferAiJobs } from '../stores/postgres/ai/jobs.ts';
import { createSuggestionStore } from '../stores/postgres/ai/suggestions.ts';
import { transferExports } from '../stores/postgres/exports.ts';
import type { OwnedDataTransfer } from '../stores/postgres/users.ts';
import { transferWebhooks } from '../stores/postgres/webhooks.ts';
import {
  type ApiServerOptions,
  aiRoutes,
  authoringRoutes,
  createRootRoutes,
  createServiceStateRoute,
  respondentPageRoutes,
  respondentRoutes,
  resultRoutes,
  webhookApiRoutes,
} from './api-routes.ts';
import { createAuthentication } from './authentication.ts';
import { createLive } from './live/live.ts';
import { createOpenApi } from './reference/openapi.ts';
import { consoleRoutes } from './routes/console.ts';
import { docsRoutes, openApiRoute } from './routes/docs.ts';
import { embedRoute } from './routes/embed.ts';
import { withAudit } from './routing/audit.ts';
import { createDispatch } from './routing/dispatch.ts';
import { createRateLimits } from './routing/rate-limits.ts';
import { createRefusalAudit } from './routing/refusal-audit.ts';
import { createRouteTable } from './routing/route-table.ts';
import { createSurveyAccess } from './routing/survey-access.ts';
import { createBodyBudget } from './server/body-pieces.ts';
import { createAddressReader } from './server/client-address.ts';
import { basePath, createServer } from './server/server.ts';
import { assertNativeServer, warnOfTrimmedHeaders } from './server/uwebsockets.ts';
import { createSubmitFastPath } from './submit/fast-path.ts';
import { webFilesRoute } from './web-files.ts';

/** Moves what a deleted user owned, besides surveys. */
const moveOwnedData: OwnedDataTransfer = async (tx, fromUserId, toUserId) => {
  await transferWebhooks(tx, fromUserId, toUserId);
  await transferExports(tx, fromUserId, toUserId);
  await transferAiJobs(tx, fromUserId, toUserId);
};

/** Puts the HTTP interface of one process together: who may call → routes → dispatch → server. */
export async function createApiServer(options: ApiServerOptions) {
  assertNativeServer();
  const { settings, stores, core, metrics, secrets, log } = options;
  const { corsOrigins } = settings;
  await warnOfTrimmedHeaders(log);
  let isStopping = false;

  const authentication = await createAuthentication({
    sql: stores.sql,
    redis: stores.sharedRedis,
    secrets,
    log,
    settings,
    nowMs: core.now,
    newId: () => newId(),
    publishRightsChange: stores.permissionNotifications.publish,
    moveOwnedData,
  });
  const { authenticate, current, audit } = authentication;
  const limits = createRateLimits({
    redis: stores.sharedRedis,
    auth: settings.rateLimits.auth,
    api: settings.rateLimits.api,
    processCount: settings.workers,
    keyedHash: secrets.keyedHash,
    log,
  });
  const access = createSurveyAccess({
    surveys: stores.surveys,
    lookups: {
      responseId: core.reading.surveysOf,
      exportId: stores.exports.findSurveyId,
      uploadId: core.uploads.findSurveyId,
      suggestionId: createSuggestionStore(stores.sql).findSurveyId,
      collectorId: stores.collectors.findSurveyId,
    },
  });

  const addressOf = createAddressReader(settings.trustedProxies);
  const live = createLive({
    stores,
    core,
    authentication,
    access,
    limits,
    metrics,
    addressOf,
    origins: corsOrigins,
    publicUrl: settings.publicUrl,
    maxStreamsPerUser: settings.liveStreamsPerUser,
    log,
  });
  const wording = createWordingChanges({ actors: core.actors, translations: stores.translations, now: core.now });
  const routes = [
    ...authentication.routes,
    ...authoringRoutes(options, wording, authentication),
    ...respondentRoutes(options, limits),
    ...resultRoutes(options, authentication),
    ...live.routes,
    ...webhookApiRoutes(options, access, authentication),
    ...aiRoutes(options, access, wording),
    createServiceStateRoute({ ...options, version: packageVersion(), isDraining: () => isStopping }),
  ];
  const rootRoutes = createRootRoutes({ ...options, authenticate, limits, isDraining: () => isStopping });
  let openApiJson: Promise<string> | undefined;
  const openApiText = (): Promise<string> => {
    openApiJson ??= createOpenApi({
      routes: [...routes, openApi],
      rootRoutes,
      publicUrl: settings.publicUrl,
      version: packageVersion(),
    }).then((document) => JSON.stringify(document));
    return openApiJson;
  };
  const openApi = openApiRoute({ openApiText });

  const bodyBudget = createBodyBudget();
  const server = createServer({
    api: createRouteTable([...withAudit(routes, audit), openApi]),
    root: createRouteTable([
      ...rootRoutes,
      ...docsRoutes(),
      ...consoleRoutes(),
      ...respondentPageRoutes(options, limits),
      embedRoute(),
      webFilesRoute(),
    ]),
    dispatch: createDispatch({
      authenticate,
      current,
      access,
      limits,
      log,
      metrics,
      auditRefusal: createRefusalAudit(audit),
    }),
    addressOf,
    bodyBudget,
    corsOrigins,
    isPortShared: options.isPortShared,
    log,
    metrics,
    addWebSockets: (app) => live.addWebSocket(app, basePath),
    submitFastPath: createSubmitFastPath({
      submit: core.submit,
      limits,
      limitOf: core.submissionLimitOf,
      addressOf,
      bodyBudget,
      corsOrigins,
      log,
      metrics,
    }),
  });
  return {
    listen: server.listen,
    /** Subscribes to notifications of other processes; resolves when they can arrive. */
    subscribe: live.subscribe,
    /** Fails readiness at once, and waits until balancers have noticed that. */
    async leaveBalancers(delay: DrainDelay): Promise<void> {
      isStopping = true;
      await server.leaveBalancers(delay);
    },
    /** Takes nothing new and lets running calls end within the deadline. */
    async drain(deadlineMs: number): Promise<void> {
      live.drain();
      await server.drain(deadlineMs);
    },
  };
}

function packageVersion(): string {
  return String((JSON.parse(readFileSync(assetPath('package.json'), 'utf8')) as { version: unknown }).version);
}
