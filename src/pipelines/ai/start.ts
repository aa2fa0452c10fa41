import type { Core } from '../../actors/core.ts';
import { createSaveTranslation } from '../../actors/translation-changes.ts';
import { createAi } from '../../ai/ai.ts';
import { createAnonymiserWorker } from '../../ai/privacy/anonymise-in-worker.ts';
import type { Log } from '../../log.ts';
import { newId } from '../../platform/ids.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { Settings } from '../../settings/settings.ts';
import { createConversationStore } from '../../stores/postgres/ai/conversations.ts';
import { createAiStore } from '../../stores/postgres/ai/jobs.ts';
import { createReportStore } from '../../stores/postgres/ai/reports.ts';
import { createAiSettingsStore } from '../../stores/postgres/ai/settings.ts';
import { createSuggestionStore } from '../../stores/postgres/ai/suggestions.ts';
import type { Stores } from '../../stores/stores.ts';
import { createGuard } from '../../webhooks/guard.ts';
import type { Workers } from '../workers.ts';
import { startAiJobs } from './jobs.ts';

export interface StartAiOptions {
  settings: Settings;
  stores: Stores;
  core: Core;
  secrets: Secrets;
  workers: Workers;
  log: Log;
}

/** Runs AI jobs in this process; returns their periodic tasks. */
export function startAi({ settings, stores, core, secrets, workers, log }: StartAiOptions) {
  const guard = createGuard({ isPrivateAllowed: settings.webhookAllowPrivate });
  const { providers, usage } = createAi({
    settings,
    stored: createAiSettingsStore(stores.sql),
    secrets,
    guard,
    sql: stores.sql,
    redis: stores.sharedRedis,
    maxWaitMs: Infinity,
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
    saveTranslation: createSaveTranslation({ ...stores, now: core.now }),
    totals: stores.totals,
    annotations: stores.annotations,
    reports,
    suggestions,
    actors: core.actors,
    caughtUp: core.reading.caughtUp,
    providers,
    workers,
    unsavedReplies: stores.unsavedReplies,
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
