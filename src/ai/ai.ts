import type { LookupFunction } from 'node:net';
import type { Settings } from '../settings.ts';
import { createProviders } from './providers.ts';

export interface AiDeps {
  settings: Pick<Settings, 'ai'>;
  guardLookup: LookupFunction;
}

/** Everything that has to do with AI providers in one process. Without a key nothing here does anything but refuse. */
export function createAi({ settings, guardLookup }: AiDeps) {
  const providers = createProviders({
    guardLookup,
    find: async (name) => {
      const own = settings.ai.providers[name];
      return own.apiKey === undefined ? undefined : { ...own, source: 'environment' };
    },
  });
  return { providers };
}

export type Ai = ReturnType<typeof createAi>;
