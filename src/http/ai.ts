import { createAi } from '../ai/ai.ts';
import { newId } from '../ids.ts';
import { createGuard } from '../webhooks/guard.ts';
import type { HttpOptions } from './http.ts';
import type { Route } from './route.ts';
import { aiGenerationRoutes } from './routes/ai-generation.ts';

/** The routes under /ai, with what stands behind them. */
export function aiRoutes({ settings, stores, core }: Pick<HttpOptions, 'settings' | 'stores' | 'core'>): Route[] {
  const guard = createGuard({ isPrivateAllowed: settings.webhookAllowPrivate });
  const { providers } = createAi({ settings, guardLookup: guard.lookup });
  const clock = { now: core.now, newId: () => newId() };
  return [...aiGenerationRoutes({ providers, surveys: stores.surveys, actors: core.actors, ...clock })];
}
