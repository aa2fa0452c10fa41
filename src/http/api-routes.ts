import assert from 'node:assert';
import type { Core } from '../actors/core.ts';
import { createEditConflicts } from '../actors/edit-conflicts.ts';
import { createSaveTranslation } from '../actors/translation-changes.ts';
import type { WordingChanges } from '../actors/wording-changes.ts';
import { createAi } from '../ai/ai.ts';
import type { DrawReport } from '../ai/tasks/report.ts';
import type { Log } from '../log.ts';
import type { MetricFamilies, Metrics } from '../metrics.ts';
import type { JobCounter, JobSender } from '../pipelines/queues.ts';
import { newId } from '../platform/ids.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { Settings } from '../settings/settings.ts';
import { createConversationStore } from '../stores/postgres/ai/conversations.ts';
import { createAiStore } from '../stores/postgres/ai/jobs.ts';
import { createReportStore } from '../stores/postgres/ai/reports.ts';
import { createAiSettingsStore } from '../stores/postgres/ai/settings.ts';
import { createSuggestionStore } from '../stores/postgres/ai/suggestions.ts';
import { createThemeNameStore } from '../stores/postgres/ai/theme-names.ts';
import { isWritable } from '../stores/postgres/client.ts';
import { createSurveyVersions } from '../stores/postgres/survey-versions.ts';
import type { Stores } from '../stores/stores.ts';
import { createGuard } from '../webhooks/guard.ts';
import type { Authentication } from './authentication.ts';
import { createPageDocument } from './page-document.ts';
import { aiAnalysisRoutes } from './routes/ai-analysis.ts';
import { aiConversationRoutes } from './routes/ai-conversations.ts';
import { aiGenerationRoutes } from './routes/ai-generation.ts';
import { aiReportRoutes } from './routes/ai-reports.ts';
import { aiSettingsRoutes } from './routes/ai-settings.ts';
import { aiSuggestionRoutes } from './routes/ai-suggestions.ts';
import { aiTranslationRoutes } from './routes/ai-translation.ts';
import { aiUsageRoutes } from './routes/ai-usage.ts';
import { analyticsRoutes } from './routes/analytics.ts';
import { collectorRoutes, publicCollectorRoute } from './routes/collectors.ts';
import { crosstabRoute } from './routes/crosstab.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { erasureRoutes } from './routes/erasure.ts';
import { exportRoutes } from './routes/exports.ts';
import { createHealthCheck, type HealthRoutesDeps, healthRoutes } from './routes/health.ts';
import { invitationRoutes } from './routes/invitations.ts';
import { logoRoutes } from './routes/logos.ts';
import { surveyOwnerRoute } from './routes/members.ts';
import { metricsRoute } from './routes/metrics.ts';
import { openAnswersRoutes } from './routes/open-answers.ts';
import { previewPageRoute } from './routes/preview-page.ts';
import { publicSurveyRoutes } from './routes/public.ts';
import { questionRoutes } from './routes/questions.ts';
import { quotaRoutes } from './routes/quotas.ts';
import { respondentPageRoute } from './routes/respondent-page.ts';
import { responseRoutes } from './routes/responses.ts';
import { sectionRoutes } from './routes/sections.ts';
import { serviceStateRoute } from './routes/service-state.ts';
import { surveyImportRoute } from './routes/survey-import.ts';
import { surveyVersionRoutes } from './routes/survey-versions.ts';
import { surveyRoutes } from './routes/surveys.ts';
import { themeNamesRoutes } from './routes/theme-names.ts';
import { translationRoutes } from './routes/translations.ts';
import { uploadRoutes } from './routes/uploads.ts';
import { webhookDeliveryRoutes } from './routes/webhook-deliveries.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { createJobReply } from './routing/ai-job-reply.ts';
import type { Authenticate } from './routing/principal.ts';
import type { RateLimits } from './routing/rate-limits.ts';
import type { Route } from './routing/route.ts';
import type { SurveyAccess } from './routing/survey-access.ts';
import { submitRoute } from './submit/submit-route.ts';
import { createTranslated } from './translated-survey.ts';

/** What the HTTP interface of a process needs from the other rooms. */
export interface ApiServerOptions {
  settings: Settings;
  stores: Stores;
  core: Core;
  jobs: JobSender & JobCounter;
  metrics: Metrics;
  secrets: Secrets;
  log: Log;
  drawReport: DrawReport;
  isPortShared: boolean;
  /** The metrics of all processes, for /metrics. */
  collectMetrics(): Promise<readonly MetricFamilies[]>;
}

const id = () => newId();

/** Surveys with their questions, translations and members. */
export function authoringRoutes(
  { stores, core, secrets }: ApiServerOptions,
  wording: WordingChanges,
  { members, rightsChanged }: Pick<Authentication, 'members' | 'rightsChanged'>,
): Route[] {
  const { surveys, translations } = stores;
  const { actors, responseCount, reading, now } = core;
  const versions = createSurveyVersions(stores.sql);
  const editConflicts = createEditConflicts({ versions, peek: actors.peek });
  return [
    ...surveyRoutes({
      surveys,
      actors,
      translations,
      logos: stores.logos,
      editConflicts,
      responseCount,
      now,
      newId: id,
    }),
    surveyImportRoute({ surveys, actors, now, newId: id }),
    ...logoRoutes({ actors, logos: stores.logos, now }),
    ...surveyVersionRoutes({ versions }),
    surveyOwnerRoute({ members, rightsChanged, responseCount, now }),
    ...questionRoutes({
      actors,
      hasAnswers: reading.hasAnswers,
      freezeSubmissions: stores.intake.freeze,
      wording,
      editConflicts,
      newId: id,
    }),
    ...quotaRoutes({ actors, counts: stores.intake.quotas.counts, now, newId: id }),
    ...sectionRoutes({ wording, editConflicts, newId: id }),
    ...translationRoutes({
      surveys,
      translations,
      saveTranslation: createSaveTranslation({ surveys, translations, now }),
    }),
    ...collectorRoutes({ surveys, actors, intake: stores.intake, now, newId: id }),
    ...invitationRoutes({ invitations: stores.invitations, surveys, secrets, now, newId: id }),
  ];
}

/** What respondents call. */
export function respondentRoutes({ settings, stores, core, secrets }: ApiServerOptions, limits: RateLimits): Route[] {
  const { currentSurvey, postgresFallback, uploads, now } = core;
  return [
    ...publicSurveyRoutes({
      currentSurvey,
      postgresFallback,
      translations: stores.translations,
      invitations: core.invitations,
      quotaCounts: stores.intake.quotas.counts,
      now,
    }),
    publicCollectorRoute({ collectors: stores.collectors, currentSurvey, intake: stores.intake, now }),
    submitRoute({ submit: core.submit, limits, limitOf: core.submissionLimitOf }),
    ...uploadRoutes({
      uploads,
      currentSurvey,
      formerVersions: core.formerVersions,
      maxBytes: settings.uploadMaxBytes,
      keyedHash: secrets.keyedHash,
      unclaimedMinutes: settings.uploadUnclaimedMinutes,
      now,
      newId: id,
    }),
  ];
}

/** The page on which respondents answer, beside the base address. */
export function respondentPageRoutes({ settings, stores, core, log }: ApiServerOptions, limits: RateLimits): Route[] {
  const { currentSurvey, postgresFallback, invitations, now } = core;
  const document = createPageDocument();
  return [
    previewPageRoute({ document, maxUploadBytes: settings.uploadMaxBytes }),
    respondentPageRoute({
      currentSurvey,
      collectors: stores.collectors,
      invitations,
      intake: stores.intake,
      translated: createTranslated({ postgresFallback, translations: stores.translations }),
      limits,
      document,
      maxUploadBytes: settings.uploadMaxBytes,
      log,
      now,
    }),
  ];
}

/** Responses, analytics and exports. */
export function resultRoutes(
  { settings, stores, core }: ApiServerOptions,
  { audit }: Pick<Authentication, 'audit'>,
): Route[] {
  const { surveys, responses, annotations, queryCache } = stores;
  const { reading, erasure, now } = core;
  return [
    ...openAnswersRoutes({ responses, surveys, annotations }),
    ...themeNamesRoutes({ themeNames: createThemeNameStore(stores.sql), annotations }),
    ...responseRoutes({ responses, reading, surveys, erasure, annotations }),
    ...erasureRoutes({ erasure }),
    ...deadLetterRoutes({
      stream: stores.stream,
      shards: stores.shards.all,
      surveyExists: async (surveyId) => (await surveys.load(surveyId)) !== undefined,
      record: (actor, revived) =>
        void audit.record({
          actor,
          action: 'dead-letters.replayed',
          objectKind: 'service',
          objectId: 'intake',
          details: { revived },
        }),
    }),
    ...analyticsRoutes({ cachedTotals: queryCache.totals, surveys, annotations }),
    crosstabRoute({ cachedCrosstab: queryCache.crosstab, surveys, annotations, maxCells: settings.crosstabMaxCells }),
    ...exportRoutes({
      exports: stores.exports,
      files: stores.exportFiles,
      surveys,
      annotations,
      maxUserBytes: settings.exportUserBytes,
      now,
      newId: id,
    }),
  ];
}

export function webhookApiRoutes(
  { settings, stores, core, jobs, secrets }: ApiServerOptions,
  access: SurveyAccess,
  { audit }: Pick<Authentication, 'audit'>,
): Route[] {
  const { webhooks, deliveries } = stores;
  const clock = { now: core.now, newId: id };
  const guard = createGuard({ isPrivateAllowed: settings.webhookAllowPrivate });
  return [
    ...webhookRoutes({ webhooks, access, guard, secrets, audit, limits: settings.webhookLimits, ...clock }),
    ...webhookDeliveryRoutes({ webhooks, deliveries, jobs, ...clock }),
  ];
}

/** The routes under /ai, with what stands behind them. */
export function aiRoutes(
  { settings, stores, core, jobs, secrets, log, drawReport }: ApiServerOptions,
  access: SurveyAccess,
  wording: WordingChanges,
): Route[] {
  const { surveys } = stores;
  const guard = createGuard({ isPrivateAllowed: settings.webhookAllowPrivate });
  const settingsStore = createAiSettingsStore(stores.sql);
  const ai = createAi({
    settings,
    stored: settingsStore,
    secrets,
    guard,
    sql: stores.sql,
    redis: stores.sharedRedis,
    log,
  });
  const { providers } = ai;
  const store = createAiStore(stores.sql);
  const replyWithJobResult = createJobReply({ store, jobs });
  const { responseCount } = core;
  const clock = { now: core.now, newId: id };
  return [
    ...aiGenerationRoutes({ store, replyWithJobResult, providers, surveys, access, responseCount, ...clock }),
    ...aiAnalysisRoutes({
      store,
      replyWithJobResult,
      providers,
      access,
      surveys,
      responseCount,
      isAnonymising: settings.ai.isAnonymising,
      ...clock,
    }),
    ...aiSuggestionRoutes({
      store,
      replyWithJobResult,
      providers,
      surveys,
      actors: core.actors,
      suggestions: createSuggestionStore(stores.sql),
      hasAnswers: core.reading.hasAnswers,
      freezeSubmissions: stores.intake.freeze,
      wording,
      ...clock,
    }),
    ...aiTranslationRoutes({ store, replyWithJobResult, providers, surveys, newId: id }),
    ...aiReportRoutes({
      replyWithJobResult,
      providers,
      surveys,
      totals: stores.totals,
      reports: createReportStore(stores.sql),
      draw: drawReport,
      newId: id,
    }),
    ...aiConversationRoutes({
      providers,
      conversations: createConversationStore(stores.sql),
      surveys,
      actors: core.actors,
      ...clock,
    }),
    ...aiSettingsRoutes({ ...ai, settingsStore, secrets, guard }),
    ...aiUsageRoutes({ usage: ai.usage }),
  ];
}

export interface RootRoutesDeps extends Pick<ApiServerOptions, 'stores' | 'collectMetrics'> {
  authenticate: Authenticate;
  limits: RateLimits;
  isDraining(): boolean;
}

/** Accepted responses that wait for longer are not stored, although ClickHouse may answer. */
const maxWaitMs = 60_000;

const healthChecks = (stores: Stores, isDraining: () => boolean): HealthRoutesDeps => ({
  isDraining,
  fullIntakeProblem: stores.pressure.refusal,
  writeToIntake: async () => {
    assert(stores.durability.refusal() === undefined);
    await stores.intakeRedis.set('{health}:probe', '1', 'EX', 60);
  },
  dependencies: {
    responses: async () => {
      assert(await stores.clickhouse.ping());
      assert((await stores.longestWaitMs()) < maxWaitMs);
    },
    storedResponses: async () => assert(stores.lostParts.known().length === 0),
    controlPlane: async () => assert(await isWritable(stores.sql)),
    jobs: () => stores.sharedRedis.set('{health}:jobs-probe', '1', 'EX', 60),
  },
});

export interface ServiceStateDeps extends Pick<ApiServerOptions, 'stores' | 'collectMetrics' | 'jobs'> {
  version: string;
  isDraining(): boolean;
}

/** The state of the service, for an ADMIN. */
export function createServiceStateRoute({ stores, collectMetrics, jobs, version, isDraining }: ServiceStateDeps) {
  const { shards, stream } = stores;
  return serviceStateRoute({
    version,
    checkHealth: createHealthCheck(healthChecks(stores, isDraining)),
    collectMetrics,
    queues: jobs.counts,
    deadLetters: async () => {
      const counts = await Promise.all(shards.all.map((shard) => stream.countDeadLetters(shard)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    storeVersions: {
      PostgreSQL: async () => (await stores.sql<{ server_version: string }[]>`SHOW server_version`)[0]?.server_version,
      ClickHouse: async () => (await stores.clickhouse.select<[string]>('SELECT version()'))[0]?.[0],
      Redis: async () => /redis_version:(\S+)/.exec(await stores.intakeRedis.info('server'))?.[1],
    },
  });
}

/** Health and metrics, beside the base address. */
export function createRootRoutes({
  stores,
  authenticate,
  limits,
  isDraining,
  collectMetrics,
}: RootRoutesDeps): Route[] {
  return [...healthRoutes(healthChecks(stores, isDraining)), metricsRoute({ collectMetrics, authenticate, limits })];
}
