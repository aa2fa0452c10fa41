import { readFileSync } from 'node:fs';
import { assetPath } from '../../platform/assets.ts';
import { newId } from '../../platform/ids.ts';
import { transferAiJobs } from '../../stores/postgres/ai/jobs.ts';
import { createSuggestionStore } from '../../stores/postgres/ai/suggestions.ts';
import { createAudit } from '../../stores/postgres/audit.ts';
import { transferExports } from '../../stores/postgres/exports.ts';
import type { OwnedDataTransfer } from '../../stores/postgres/users.ts';
import { transferWebhooks } from '../../stores/postgres/webhooks.ts';
import { createGuard } from '../../webhooks/guard.ts';
import { createLive } from '../live/live.ts';
import { createOpenApi } from '../reference/openapi.ts';
import { analyticsRoutes } from '../routes/analytics.ts';
import { crosstabRoute } from '../routes/crosstab.ts';
import { deadLetterRoutes } from '../routes/dead-letters.ts';
import { docsRoutes, openApiRoute } from '../routes/docs.ts';
import { erasureRoutes } from '../routes/erasure.ts';
import { exportRoutes } from '../routes/exports.ts';
import { surveyOwnerRoute } from '../routes/members.ts';
import { publicSurveyRoutes } from '../routes/public.ts';
import { questionRoutes } from '../routes/questions.ts';
import { responseRoutes } from '../routes/responses.ts';
import { surveyRoutes } from '../routes/surveys.ts';
import { translationRoutes } from '../routes/translations.ts';
import { uploadRoutes } from '../routes/uploads.ts';
import { webhookDeliveryRoutes } from '../routes/webhook-deliveries.ts';
import { webhookRoutes } from '../routes/webhooks.ts';
import { withAudit } from '../routing/audit.ts';
import { type Authentication, createAuthentication } from '../routing/authentication.ts';
import { createDispatch, type SurveyAccess } from '../routing/dispatch.ts';
import { createRateLimits, type RateLimits } from '../routing/rate-limits.ts';
import { createRouteTable, type Route } from '../routing/route.ts';
import { createSurveyAccess } from '../routing/survey-access.ts';
import { createSubmitFastPath } from '../submit/fast-path.ts';
import { submitRoute } from '../submit/submit-route.ts';
import { aiRoutes } from './ai-routes.ts';
import { createAddressReader } from './client-address.ts';
import type { ApiServerOptions } from './options.ts';
import { createRootRoutes } from './root-routes.ts';
import { basePath, createServer, type Server } from './server.ts';
import { assertNativeServer, warnOfTrimmedHeaders } from './uwebsockets.ts';

/** What a deleted user leaves behind beside surveys. */
const handOver: OwnedDataTransfer = async (tx, fromUserId, toUserId) => {
  await transferWebhooks(tx, fromUserId, toUserId);
  await transferExports(tx, fromUserId, toUserId);
  await transferAiJobs(tx, fromUserId, toUserId);
};

/** The interface of one process: people, routes, limits, server. */
export async function createApiServer(options: ApiServerOptions) {
  assertNativeServer();
  const { settings, stores, core, metrics, secrets, log } = options;
  await warnOfTrimmedHeaders(log);
  const authentication = await createAuthentication({
    sql: stores.sql,
    redis: stores.sharedRedis,
    secrets,
    log,
    settings,
    nowMs: core.now,
    newId: () => newId(),
    publishRightsChange: stores.permissionNotifications.publish,
    handOver,
  });
  const limits = createRateLimits({
    redis: stores.sharedRedis,
    auth: settings.rateLimits.auth,
    api: settings.rateLimits.api,
    processCount: settings.workers,
    log,
  });
  const access = createSurveyAccess({
    surveys: stores.surveys,
    lookups: {
      responseId: async (responseId) => (await core.reading.findAnywhere(responseId))?.surveyId,
      exportId: stores.exports.findSurveyId,
      uploadId: core.uploads.findSurveyId,
      suggestionId: createSuggestionStore(stores.sql).findSurveyId,
    },
  });
  let isStopping = false;
  const rootRoutes = createRootRoutes({
    ...options,
    authenticate: authentication.authenticate,
    limits,
    isDraining: () => isStopping,
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
    origins: settings.corsOrigins,
    log,
  });
  const routes = [
    ...apiRoutes(options, authentication, limits),
    ...live.routes,
    ...webhookApiRoutes(options, access),
    ...aiRoutes(options, access),
  ];
  const openApiDocument = () =>
    createOpenApi({ routes: api.routes, rootRoutes, publicUrl: settings.publicUrl, version: packageVersion() });
  const api = createRouteTable([
    ...withAudit(routes, authentication.audit),
    openApiRoute({ document: openApiDocument }),
  ]);
  const server: Server = createServer({
    api,
    root: createRouteTable([...rootRoutes, ...docsRoutes()]),
    dispatch: createDispatch({ authenticate: authentication.authenticate, access, limits, log, metrics }),
    addressOf,
    corsOrigins: settings.corsOrigins,
    isPortShared: options.isPortShared,
    log,
    metrics,
    addWebSockets: (app) => live.addWebSocket(app, basePath),
    submitFastPath: createSubmitFastPath({
      submit: core.submit,
      limits,
      addressOf,
      corsOrigins: settings.corsOrigins,
      log,
      metrics,
    }),
  });
  return {
    listen: server.listen,
    /** Hears of what happens in other processes; resolves when it can be heard. */
    hear: live.subscribe,
    /** Readiness fails at once; after DRAIN_DELAY_MS, in which balancers hear of it, nothing new is taken and what runs may end. */
    async drain(deadlineMs: number): Promise<void> {
      isStopping = true;
      if (settings.drainDelayMs > 0) server.closeAfterReply();
      await new Promise((resolve) => setTimeout(resolve, settings.drainDelayMs));
      live.drain();
      await server.drain(deadlineMs);
    },
  };
}

function packageVersion(): string {
  return String((JSON.parse(readFileSync(assetPath('package.json'), 'utf8')) as { version: unknown }).version);
}

function webhookApiRoutes(
  { settings, stores, core, jobs, secrets, log }: ApiServerOptions,
  access: SurveyAccess,
): Route[] {
  const { webhooks, deliveries } = stores;
  const clock = { now: core.now, newId: () => newId() };
  const guard = createGuard({ isPrivateAllowed: settings.webhookAllowPrivate });
  return [
    ...webhookRoutes({ webhooks, access, guard, secrets, audit: createAudit(stores.sql, log), ...clock }),
    ...webhookDeliveryRoutes({ webhooks, deliveries, jobs, ...clock }),
  ];
}

function apiRoutes(
  { settings, stores, core }: ApiServerOptions,
  authentication: Authentication,
  limits: RateLimits,
): Route[] {
  const { surveys, responses } = stores;
  const { totals, crosstab } = stores.queryCache;
  const { actors, currentSurvey, whileAway, reading, responseCount, now } = core;
  const id = () => newId();
  return [
    ...authentication.routes,
    ...surveyRoutes({ surveys, actors, translations: stores.translations, responseCount, now, newId: id }),
    surveyOwnerRoute({
      members: authentication.members,
      rightsChanged: authentication.rightsChanged,
      responseCount,
      now,
    }),
    ...questionRoutes({
      actors,
      hasAnswers: reading.hasAnswers,
      freezeSubmissions: stores.intake.freeze,
      now,
      newId: id,
    }),
    submitRoute({ submit: core.submit, limits }),
    ...erasureRoutes({ erasure: core.erasure }),
    ...responseRoutes({ responses, reading, surveys, erasure: core.erasure }),
    ...deadLetterRoutes({
      stream: stores.stream,
      shards: stores.shards.all,
      surveyExists: async (surveyId) => (await surveys.load(surveyId)) !== undefined,
      record: (actorId, revived) =>
        void authentication.audit.record({
          actor: { userId: actorId, keyId: null },
          action: 'dead-letters.replayed',
          objectKind: 'service',
          objectId: 'intake',
          details: { revived },
        }),
    }),
    ...analyticsRoutes({ totals, surveys, annotations: stores.annotations }),
    crosstabRoute({ crosstab, surveys, annotations: stores.annotations }),
    ...exportRoutes({
      exports: stores.exports,
      files: stores.exportFiles,
      surveys,
      annotations: stores.annotations,
      now,
      newId: id,
    }),
    ...publicSurveyRoutes({ currentSurvey, whileAway, translations: stores.translations, now }),
    ...translationRoutes({ surveys, translations: stores.translations, now }),
    ...uploadRoutes({ uploads: core.uploads, currentSurvey, maxBytes: settings.uploadMaxBytes, now, newId: id }),
  ];
}
