import { createAi } from '../../ai/ai.ts';
import { newId } from '../../platform/ids.ts';
import { createConversationStore } from '../../stores/postgres/ai/conversations.ts';
import { createAiStore } from '../../stores/postgres/ai/jobs.ts';
import { createReportStore } from '../../stores/postgres/ai/reports.ts';
import { createAiSettingsStore } from '../../stores/postgres/ai/settings.ts';
import { createSuggestionStore } from '../../stores/postgres/ai/suggestions.ts';
import { createGuard } from '../../webhooks/guard.ts';
import { aiAnalysisRoutes } from '../routes/ai-analysis.ts';
import { aiConversationRoutes } from '../routes/ai-conversations.ts';
import { aiGenerationRoutes } from '../routes/ai-generation.ts';
import { aiReportRoutes } from '../routes/ai-reports.ts';
import { aiSettingsRoutes } from '../routes/ai-settings.ts';
import { aiSuggestionRoutes } from '../routes/ai-suggestions.ts';
import { aiTranslationRoutes } from '../routes/ai-translation.ts';
import { aiUsageRoutes } from '../routes/ai-usage.ts';
import type { SurveyAccess } from '../routing/dispatch.ts';
import type { Route } from '../routing/route.ts';
import type { ApiServerOptions } from './options.ts';

/** The routes under /ai, with what stands behind them. */
export function aiRoutes(
  { settings, stores, core, jobs, secrets, log, drawReport }: ApiServerOptions,
  access: SurveyAccess,
): Route[] {
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
  const store = createAiStore(stores.sql);
  const clock = { now: core.now, newId: () => newId() };
  return [
    ...aiGenerationRoutes({ store, jobs, providers: ai.providers, surveys: stores.surveys, ...clock }),
    ...aiAnalysisRoutes({
      store,
      providers: ai.providers,
      jobs,
      access,
      surveys: stores.surveys,
      isAnonymising: settings.ai.isAnonymising,
      ...clock,
    }),
    ...aiSuggestionRoutes({
      store,
      jobs,
      providers: ai.providers,
      surveys: stores.surveys,
      actors: core.actors,
      suggestions: createSuggestionStore(stores.sql),
      hasAnswers: core.reading.hasAnswers,
      freezeSubmissions: stores.intake.freeze,
      ...clock,
    }),
    ...aiTranslationRoutes({ store, jobs, providers: ai.providers, surveys: stores.surveys, newId: clock.newId }),
    ...aiReportRoutes({
      store,
      jobs,
      providers: ai.providers,
      surveys: stores.surveys,
      totals: stores.totals,
      reports: createReportStore(stores.sql),
      draw: drawReport,
      newId: clock.newId,
    }),
    ...aiConversationRoutes({
      providers: ai.providers,
      conversations: createConversationStore(stores.sql),
      surveys: stores.surveys,
      actors: core.actors,
      ...clock,
    }),
    ...aiSettingsRoutes({ ...ai, settingsStore, secrets, guard }),
    ...aiUsageRoutes({ usage: ai.usage }),
  ];
}
