import { createAi } from '../../ai/ai.ts';
import { createAnonymiserThread } from '../../ai/anonymiser.ts';
import { createRecentChanges } from '../../ai/recent-changes.ts';
import { newId } from '../../ids.ts';
import { createAiSettingsStore } from '../../stores/postgres/ai-settings.ts';
import { createAiStore } from '../../stores/postgres/ai.ts';
import { createConversationStore } from '../../stores/postgres/ai-conversations.ts';
import { createReportStore } from '../../stores/postgres/ai-reports.ts';
import { createSuggestionStore } from '../../stores/postgres/ai-suggestions.ts';
import { createGuard } from '../../webhooks/guard.ts';
import type { JobsOptions } from '../jobs-options.ts';
import { startAiJobs } from './jobs.ts';

/** Works AI jobs off in this process; gives the tasks that keep them in order. */
export function startAi({ settings, stores, core, secrets, workers, log }: Pick<JobsOptions, 'settings' | 'stores' | 'core' | 'secrets' | 'workers' | 'log'>) {
  const guard = createGuard({ isPrivateAllowed: settings.webhookAllowPrivate });
  const changes = createRecentChanges();
  core.onSurveyChanged(changes.tell).catch((error: unknown) => log.debug({ err: error }, 'changes of surveys are not heard of yet'));
  const { providers, usage } = createAi({ settings, stored: createAiSettingsStore(stores.sql), secrets, guard, sql: stores.sql, redis: stores.sharedRedis, patienceMs: Infinity, isChangedSince: changes.isSince, log });
  const { batchSize, batchDelayMs, batchesAtOnce, isAnonymising } = settings.ai;
  const [conversations, suggestions, reports] = [createConversationStore(stores.sql), createSuggestionStore(stores.sql), createReportStore(stores.sql)];
  return startAiJobs({
    store: createAiStore(stores.sql), surveys: stores.surveys, responses: stores.responses, translations: stores.translations, totals: stores.totals, findings: stores.findings,
    reports, suggestions, actors: core.actors, settled: core.reading.settled, providers, workers, paid: stores.paidReplies, log, batchSize, batchDelayMs, batchesAtOnce,
    isAnonymising, anonymiseAll: isAnonymising ? createAnonymiserThread() : undefined, tell: stores.liveNews.publishJobProgress, now: core.now, newId: () => newId(), sweepOthers: async () => void (await Promise.all([usage.sweep(), conversations.sweep(), suggestions.sweep(), reports.sweep()])),
  });
}
