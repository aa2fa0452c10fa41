import { createAi } from '../ai/ai.ts';
import { newId } from '../ids.ts';
import { createAiSettingsStore } from '../stores/postgres/ai-settings.ts';
import { createAudit } from '../stores/postgres/audit.ts';
import { createGuard } from '../webhooks/guard.ts';
import type { HttpOptions } from './http.ts';
import type { Route } from './route.ts';
import { aiGenerationRoutes } from './routes/ai-generation.ts';
import { aiSettingsRoutes } from './routes/ai-settings.ts';

/** The routes under /ai, with what stands behind them. */
export function aiRoutes({ settings, stores, core, secrets, log }: Pick<HttpOptions, 'settings' | 'stores' | 'core' | 'secrets' | 'log'>): Route[] {
  const guard = createGuard({ isPrivateAllowed: settings.webhookAllowPrivate });
  const stored = createAiSettingsStore(stores.sql);
  const ai = createAi({ settings, stored, secrets, guardLookup: guard.lookup });
  const clock = { now: core.now, newId: () => newId() };
  return [
    ...aiGenerationRoutes({ providers: ai.providers, surveys: stores.surveys, actors: core.actors, ...clock }),
    ...aiSettingsRoutes({ ...ai, stored, secrets, guard, audit: createAudit(stores.sql, log) }),
  ];
}
