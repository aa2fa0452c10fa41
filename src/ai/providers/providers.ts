import { Problem } from '../../errors.ts';
import { jsonDigest } from '../../platform/json-digest.ts';
import type { ProviderName, ProviderSettings } from '../../settings/ai-settings.ts';
import type { Guard } from '../../webhooks/guard.ts';
import { type CallPurpose, rateLimited, type UsageMeterDeps } from '../usage.ts';
import { type Connections, createBoundedFetch, createConnections } from './bounded-fetch.ts';
import type { Provider, ReplyCache } from './provider.ts';
import { providerNames, providerRegistry } from './registry.ts';
import { retryBreakdowns } from './retries.ts';

/** Origin of a provider's key. */
export type SettingsSource = 'environment' | 'settings';

export interface EffectiveSettings extends ProviderSettings {
  source: SettingsSource;
  /** The address was entered by a user, so it must be public; one of the environment may be any. */
  isAddressEntered: boolean;
}

export interface ProvidersDeps {
  /** Returns the effective settings; undefined without a key. */
  find(name: ProviderName): Promise<EffectiveSettings | undefined>;
  /** Checks addresses that users entered. */
  guard: Pick<Guard, 'refusalOf' | 'lookup'>;
  /** Undefined: replies are not cached. */
  replyCache?: ReplyCache | undefined;
  usageMeter: UsageMeterDeps;
  /** Time limit of a call, up to the end of its reply. */
  callTimeoutMs: number;
  /** Waits before a call of a bulk job is repeated after a breakdown of the provider. */
  retryWaitsSeconds: readonly number[];
}

const maxReplyBytes = 4 * 1024 * 1024;

/**
 * Creates providers for use. Clients are created for every use, because settings may have changed; they share
 * connections.
 */
export function createProviders({
  find,
  guard,
  replyCache,
  usageMeter: meterDeps,
  callTimeoutMs,
  retryWaitsSeconds,
}: ProvidersDeps) {
  const connections = { guarded: createConnections(), own: createConnections() };
  return {
    /**
     * Returns the named provider, or the first configured one, with limits and usage records. Throws AI_NOT_CONFIGURED,
     * or AI_KEY_INVALID for a malformed key.
     */
    async pick(name?: ProviderName, purpose: CallPurpose = {}): Promise<Provider> {
      for (const candidate of name === undefined ? providerNames : [name]) {
        const found = await find(candidate);
        if (!found) continue;
        const metered = rateLimited(
          await buildProvider(candidate, found, { guard, callTimeoutMs, connections }),
          { ...limitsOf(candidate, found), purpose },
          meterDeps,
        );
        return { ...(purpose.isBulk ? retryBreakdowns(metered, retryWaitsSeconds) : metered), replyCache };
      }
      throw new Problem('AI_NOT_CONFIGURED', name === undefined ? 'No AI provider has a key' : undefined);
    },
  };
}

export type Providers = ReturnType<typeof createProviders>;

/** Limits belong to a key at an address. */
function limitsOf(
  name: ProviderName,
  { apiKey = '', baseUrl, endpoint, requestsPerMinute, tokensPerMinute }: EffectiveSettings,
) {
  const defaults = providerRegistry[name];
  const account = jsonDigest([name, apiKey, baseUrl ?? endpoint ?? '']).slice(0, 22);
  const allowance = {
    requestsPerMinute: requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: tokensPerMinute ?? defaults.tokensPerMinute,
  };
  return { account, allowance };
}

async function buildProvider(
  name: ProviderName,
  found: EffectiveSettings,
  {
    guard,
    callTimeoutMs,
    connections,
  }: Pick<ProvidersDeps, 'guard' | 'callTimeoutMs'> & { connections: Record<'guarded' | 'own', Connections> },
): Promise<Provider> {
  const { apiKey = '', baseUrl, endpoint, deployment, isAddressEntered } = found;
  assertKeyForm(name, apiKey, endpoint ?? baseUrl);
  const { high, low, create } = providerRegistry[name];
  const models = { high: found.modelHigh ?? (deployment || high), low: found.modelLow ?? (deployment || low) };
  const fetch = createBoundedFetch({
    maxReplyBytes,
    timeoutMs: callTimeoutMs,
    ...(isAddressEntered ? { guard, connections: connections.guarded } : { connections: connections.own }),
  });
  return create({ apiKey, baseUrl, endpoint, deployment, models, timeoutMs: callTimeoutMs, fetch });
}

/**
 * Refuses malformed keys, and keys of another provider, before they are sent anywhere. Addresses other than the
 * provider's own take any key.
 */
export function assertKeyForm(name: ProviderName, apiKey: string, address: string | undefined): void {
  const { key, host } = providerRegistry[name];
  const isPlain = /^[\x21-\x7e]{1,512}$/.test(apiKey);
  const isProviders = address === undefined || (URL.canParse(address) && host.test(new URL(address).hostname));
  if (!isPlain || (isProviders && !key.test(apiKey)))
    throw new Problem('AI_KEY_INVALID', 'The key does not have the form of a key of this provider');
}
