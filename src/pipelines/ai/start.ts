import { createAi } from '../../ai/ai.ts';
import { createAnonymiserWorker } from '../../ai/privacy/anonymise-in-worker.ts';
import { newId } from '../../platform/ids.ts';
import { createConversationStore } from '../../stores/postgres/ai/conversations.ts';
import { createAiStore } from '../../stores/postgres/ai/jobs.ts';
import { createReportStore } from '../../stores/postgres/ai/reports.ts';
import { createAiSettingsStore } from '../../stores/postgres/ai/settings.ts';
import { createSuggestionStore } from '../../stores/postgres/ai/suggestions.ts';
import { createGuard } from '../../webhooks/guard.ts';
import type { PipelineOptions } from '../options.ts';
import { startAiJobs } from './jobs.ts';
import { createRecentChanges } from './recent-changes.ts';

/** Works AI jobs off in this process; gives the tasks that keep them in order. */
export function startAi({
  settings,
  stores,
  core,
  secrets,
  workers,
  log,
}: Pick<PipelineOptions, 'settings' | 'stores' | 'core' | 'secrets' | 'workers' | 'log'>) {
  const guard = createGuard({ isPrivateAllowed: settings.webhookAllowPrivate });
  const changes = createRecentChanges();
  core
    .onSurveyChanged(changes.record)
    .catch((error: unknown) => log.debug({ err: error }, 'subscribing to survey changes failed'));
  const { providers, usage } = createAi({
    settings,
    stored: createAiSettingsStore(stores.sql),
    secrets,
    guard,
    sql: stores.sql,
    redis: stores.sharedRedis,
    patienceMs: Infinity,
    isChangedSince: changes.hasChangedSince,
    log,
  });
  const { batchSize, batchDelayMs, batchesAtOnce, isAnonymising } = settings.ai;
  const [conversations, suggestions, reports] = [
    createConversationStore(stores.sql),
    createSuggestionStore(stores.sql),
    createReportStore(stores.sql),
  ];
  return startAiJobs({
    store: createAiStore(stores.sql),
    surveys: stores.surveys,
    responses: stores.responses,
    translations: stores.translations,
    totals: stores.totals,
    annotations: stores.annotations,
    reports,
    suggestions,
    actors: core.actors,
    caughtUp: core.reading.caughtUp,
    providers,
    workers,
    paid: stores.unsavedReplies,
    log,
    batchSize,
    batchDelayMs,
    batchesAtOnce,
    isAnonymising,
    anonymiseAll: isAnonymising ? createAnonymiserWorker() : undefined,
    publishProgress: stores.liveNotifications.publishJobProgress,
    now: core.now,
    newId: () => newId(),
    deleteExpired: async () =>
      void (await Promise.all([usage.sweep(), conversations.sweep(), suggestions.sweep(), reports.sweep()])),
  });
}
