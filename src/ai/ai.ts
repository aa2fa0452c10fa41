import type { LookupFunction } from 'node:net';
import type { Log } from '../log.ts';
import type { Secrets } from '../secrets.ts';
import type { ProviderName, Settings } from '../settings.ts';
import type { AiSettingsStore } from '../stores/postgres/ai-settings.ts';
import { createKeptReplies, type KeptRepliesDeps } from './kept-replies.ts';
import { createProviders, type FoundSettings } from './providers.ts';

export interface AiDeps {
  settings: Pick<Settings, 'ai'>;
  stored: Pick<AiSettingsStore, 'find'>;
  secrets: Pick<Secrets, 'open'>;
  guardLookup: LookupFunction;
  redis: KeptRepliesDeps['redis'];
  log: Log;
}

/** Binds a sealed key to its provider. */
export const aiKeyContext = (name: ProviderName): string => `ai key of ${name}`;

/** Everything that has to do with AI providers in one process. Without a key nothing here does anything but refuse. */
export function createAi({ settings, stored, secrets, guardLookup, redis, log }: AiDeps) {
  const find = async (name: ProviderName): Promise<FoundSettings | undefined> => {
    const own = settings.ai.providers[name];
    const row = await stored.find(name);
    if (!row) return own.apiKey === undefined ? undefined : { ...own, source: 'environment' };
    const { requestsPerMinute, tokensPerMinute } = own;
    return {
      apiKey: secrets.open(row.keySealed, aiKeyContext(name)),
      ...(row.endpoint !== null && (name === 'azure' ? { endpoint: row.endpoint } : { baseUrl: row.endpoint })),
      ...(row.deployment !== null && { deployment: row.deployment }),
      ...(row.modelHigh !== null && { modelHigh: row.modelHigh }),
      ...(row.modelLow !== null && { modelLow: row.modelLow }),
      ...(requestsPerMinute !== undefined && { requestsPerMinute }),
      ...(tokensPerMinute !== undefined && { tokensPerMinute }),
      source: 'settings',
    };
  };
  const { isCacheEnabled, cacheTtlSeconds } = settings.ai;
  const kept = isCacheEnabled ? createKeptReplies({ redis, ttlSeconds: cacheTtlSeconds, log }) : undefined;
  return { find, providers: createProviders({ guardLookup, find, kept }) };
}

export type Ai = ReturnType<typeof createAi>;
