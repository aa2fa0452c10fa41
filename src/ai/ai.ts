import type { Redis } from 'ioredis';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import { newId } from '../platform/ids.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { ProviderName } from '../settings/ai-settings.ts';
import type { Settings } from '../settings/settings.ts';
import type { AiSettingsStore } from '../stores/postgres/ai/settings.ts';
import { createSurveyAiSwitch } from '../stores/postgres/ai/settings.ts';
import { createAiUsageStore } from '../stores/postgres/ai/usage.ts';
import type { Sql } from '../stores/postgres/client.ts';
import { retryOnOutage } from '../stores/postgres/errors.ts';
import { createProviderBudget } from '../stores/redis/ai/provider-budget.ts';
import type { Guard } from '../webhooks/guard.ts';
import { createProviders, type EffectiveSettings } from './providers/providers.ts';
import { createReplyCache } from './providers/reply-cache.ts';

export interface AiDeps {
  settings: Pick<Settings, 'ai'>;
  stored: Pick<AiSettingsStore, 'find'>;
  secrets: Pick<Secrets, 'open'>;
  guard: Pick<Guard, 'refusalOf' | 'lookup'>;
  sql: Sql;
  redis: Redis;
  /**
   * How long a call may wait for the provider's limits, in milliseconds; by default as long as an HTTP request may.
   * Infinity for jobs.
   */
  maxWaitMs?: number;
  log: Log;
}

const requestMaxWaitMs = 15_000;

/** Encryption context that binds a stored key to its provider. */
export const aiKeyContext = (name: ProviderName): string => `ai key of ${name}`;

/** Composes the AI providers of one process. Without a key every call is refused. */
export function createAi({ settings, stored, secrets, guard, sql, redis, maxWaitMs = requestMaxWaitMs, log }: AiDeps) {
  const find = async (name: ProviderName): Promise<EffectiveSettings | undefined> => {
    const own = settings.ai.providers[name];
    const row = await stored.find(name);
    if (!row) return own.apiKey === undefined ? undefined : { ...own, isAddressEntered: false, source: 'environment' };
    const { apiKey: _apiKey, ...rest } = own;
    return {
      // Address, deployment, models and limits that were not entered come from the environment.
      ...rest,
      apiKey: openSealedKey(secrets, row.keySealed, name),
      ...(row.endpoint !== null && (name === 'azure' ? { endpoint: row.endpoint } : { baseUrl: row.endpoint })),
      // A former version stored one of every provider.
      ...(row.deployment !== null && name === 'azure' && { deployment: row.deployment }),
      ...(row.modelHigh !== null && { modelHigh: row.modelHigh }),
      ...(row.modelLow !== null && { modelLow: row.modelLow }),
      isAddressEntered: row.endpoint !== null,
      source: 'settings',
    };
  };
  const { isCacheEnabled, cacheTtlSeconds, callTimeoutMs, retryWaitsSeconds } = settings.ai;
  const replyCache = isCacheEnabled ? createReplyCache({ redis, ttlSeconds: cacheTtlSeconds, log }) : undefined;
  const usage = createAiUsageStore(sql);
  const usageMeter = {
    budget: createProviderBudget(redis),
    usage,
    surveys: createSurveyAiSwitch(sql),
    maxWaitMs,
    retryOnOutage: maxWaitMs === Infinity ? retryOnOutage : <T>(step: () => Promise<T>) => step(),
    newId: () => newId(),
    log,
  };
  return {
    find,
    fromEnvironment: (name: ProviderName) => settings.ai.providers[name],
    usage,
    providers: createProviders({ guard, find, replyCache, usageMeter, callTimeoutMs, retryWaitsSeconds }),
  };
}

export type Ai = ReturnType<typeof createAi>;

/** Decrypts a stored key; one that was encrypted with another SECRETS_KEY has to be entered again. */
function openSealedKey(secrets: Pick<Secrets, 'open'>, sealed: Buffer, name: ProviderName): string {
  try {
    return secrets.open(sealed, aiKeyContext(name));
  } catch (error) {
    throw new Problem(
      'AI_KEY_INVALID',
      'The stored key of the AI provider cannot be read by this service any more: enter it again',
      { cause: error },
    );
  }
}
