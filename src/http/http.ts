import { readFileSync } from 'node:fs';
import { assetPath } from '../assets.ts';
import { newId } from '../ids.ts';
import { handOverAiJobs } from '../stores/postgres/ai.ts';
import { createSuggestionStore } from '../stores/postgres/ai-suggestions.ts';
import { createAudit } from '../stores/postgres/audit.ts';
import { handOverExports } from '../stores/postgres/exports.ts';
import type { HandOver } from '../stores/postgres/users.ts';
import { handOverWebhooks } from '../stores/postgres/webhooks.ts';
import { createGuard } from '../webhooks/guard.ts';
import { aiRoutes } from './ai.ts';
import { createSurveyAccess } from './access.ts';
import { createAddressReader } from './client-address.ts';
import { withAudit } from './deeds.ts';
import { createDispatch, type SurveyAccess } from './dispatch.ts';
import { assertNativeServer, warnOfTrimmedHeaders } from './engine.ts';
import { createLimits, type Limits } from './limits.ts';
import { createLive } from './live/live.ts';
import { createPeople, type People } from './people.ts';
import { createRouteTable, type Route } from './route.ts';
import { createOpenApi } from './openapi.ts';
import type { HttpOptions } from './options.ts';
import { createRootRoutes } from './root-routes.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { docsRoutes, openApiRoute } from './routes/docs.ts';
import { analyticsRoutes } from './routes/analytics.ts';
import { crosstabRoute } from './routes/crosstab.ts';
import { erasureRoutes } from './routes/erasure.ts';
import { exportRoutes } from './routes/exports.ts';
import { publicRoutes } from './routes/public.ts';
import { questionRoutes } from './routes/questions.ts';
import { responseRoutes } from './routes/responses.ts';
import { submitRoute } from './routes/submit.ts';
import { surveyOwnerRoute } from './routes/survey-owner.ts';
import { surveyRoutes } from './routes/surveys.ts';
import { translationRoutes } from './routes/translations.ts';
import { uploadRoutes } from './routes/uploads.ts';
import { webhookDeliveryRoutes } from './routes/webhook-deliveries.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { basePath, createServer, type Server } from './server.ts';
import { createSubmitDoor } from './submit-door.ts';

/** What a deleted user leaves behind beside surveys. */
const handOver: HandOver = async (tx, fromUserId, toUserId) => {
  await handOverWebhooks(tx, fromUserId, toUserId);
  await handOverExports(tx, fromUserId, toUserId);
  await handOverAiJobs(tx, fromUserId, toUserId);
};

/** The interface of one process: people, routes, limits, server. */
export async function createHttp(options: HttpOptions) {
  assertNativeServer();
  const { settings, stores, core, metrics, secrets, log } = options;
  await warnOfTrimmedHeaders(log);
  const people = await createPeople({ sql: stores.sql, redis: stores.sharedRedis, secrets, log, settings, nowMs: core.now, newId: () => newId(), announce: stores.rightsNews.publish, handOver });
  const limits = createLimits({ redis: stores.sharedRedis, auth: settings.rateLimits.auth, api: settings.rateLimits.api, processCount: settings.workers, log });
  const access = createSurveyAccess({
    surveys: stores.surveys,
    lookups: { responseId: async (responseId) => (await core.reading.findAnywhere(responseId))?.surveyId, exportId: stores.exports.surveyOf, uploadId: core.uploads.surveyOf, suggestionId: createSuggestionStore(stores.sql).surveyOf },
  });
  let isStopping = false;
  const rootRoutes = createRootRoutes({ ...options, authenticate: people.authenticate, limits, isDraining: () => isStopping });
  const addressOf = createAddressReader(settings.trustedProxies);
  const live = createLive({ stores, core, people, access, limits, metrics, addressOf, origins: settings.corsOrigins, log });
  const ownRoutes = [...apiRoutes(options, people, limits), ...live.routes, ...endpointRoutes(options, access), ...aiRoutes(options, access)];
  const document = () => createOpenApi({ routes: api.routes, rootRoutes, publicUrl: settings.publicUrl, version: packageVersion() });
  const api = createRouteTable([...withAudit(ownRoutes, people.audit), openApiRoute({ document })]);
  const server: Server = createServer({
    api, root: createRouteTable([...rootRoutes, ...docsRoutes()]), dispatch: createDispatch({ authenticate: people.authenticate, access, limits, log, metrics }),
    addressOf, corsOrigins: settings.corsOrigins, isPortShared: options.isPortShared, log, metrics, extend: (app) => live.extend(app, basePath),
    submitDoor: createSubmitDoor({ submit: core.submit, limits, addressOf, corsOrigins: settings.corsOrigins, log, metrics }),
  });
  return {
    listen: server.listen,
    /** Hears of what happens in other processes; resolves when it can be heard. */
    hear: live.listen,
    /** Readiness fails at once; after DRAIN_DELAY_MS, in which balancers hear of it, nothing new is taken and what runs may end. */
    async drain(deadlineMs: number): Promise<void> {
      isStopping = true;
      if (settings.drainDelayMs > 0) server.windDown();
      await new Promise((resolve) => setTimeout(resolve, settings.drainDelayMs));
      live.drain();
      await server.drain(deadlineMs);
    },
  };
}

function packageVersion(): string {
  return String((JSON.parse(readFileSync(assetPath('package.json'), 'utf8')) as { version: unknown }).version);
}

function endpointRoutes({ settings, stores, core, jobs, secrets, log }: HttpOptions, access: SurveyAccess): Route[] {
  const { webhooks, deliveries } = stores;
  const clock = { now: core.now, newId: () => newId() };
  const guard = createGuard({ isPrivateAllowed: settings.webhookAllowPrivate });
  return [
    ...webhookRoutes({ webhooks, access, guard, secrets, audit: createAudit(stores.sql, log), ...clock }),
    ...webhookDeliveryRoutes({ webhooks, deliveries, jobs, ...clock }),
  ];
}

function apiRoutes({ settings, stores, core }: HttpOptions, people: People, limits: Limits): Route[] {
  const { surveys, responses } = stores;
  const { totals, crosstab } = stores.keptCounts;
  const { actors, currentSurvey, whileAway, reading, responseCount, now } = core;
  const id = () => newId();
  return [
    ...people.routes,
    ...surveyRoutes({ surveys, actors, translations: stores.translations, responseCount, now, newId: id }),
    surveyOwnerRoute({ members: people.members, rightsChanged: people.rightsChanged, responseCount, now }),
    ...questionRoutes({ actors, hasAnswers: reading.hasAnswers, holdBack: stores.intake.holdBack, now, newId: id }),
    submitRoute({ submit: core.submit, limits }),
    ...erasureRoutes({ erasing: core.erasing, audit: people.audit }),
    ...responseRoutes({ responses, reading, surveys, erasing: core.erasing }),
    ...deadLetterRoutes({
      stream: stores.stream, shards: stores.shards.all, isThere: async (surveyId) => (await surveys.load(surveyId)) !== undefined,
      record: (actorId, revived) => void people.audit.record({ actor: { userId: actorId, keyId: null }, action: 'dead-letters.replayed', objectKind: 'service', objectId: 'intake', details: { revived } }),
    }),
    ...analyticsRoutes({ totals, surveys, findings: stores.findings }),
    crosstabRoute({ crosstab, surveys, findings: stores.findings }),
    ...exportRoutes({ exports: stores.exports, files: stores.exportFiles, surveys, findings: stores.findings, now, newId: id }),
    ...publicRoutes({ currentSurvey, whileAway, translations: stores.translations, now }),
    ...translationRoutes({ surveys, translations: stores.translations, audit: people.audit, now }),
    ...uploadRoutes({ uploads: core.uploads, currentSurvey, maxBytes: settings.uploadMaxBytes, now, newId: id }),
  ];
}
