import { createHash } from 'node:crypto';
import { Problem } from '../../errors.ts';
import type { ProviderName, ProviderSettings } from '../../settings.ts';
import type { Guard } from '../../webhooks/guard.ts';
import { type CallPurpose, rateLimited, type UsageMeterDeps } from '../usage.ts';
import { type Connections, createBoundedFetch, createConnections } from './bounded-fetch.ts';
import { keyForms, providerDefaults } from './models.ts';
import type { Provider, ReplyCache } from './provider.ts';
import { retryBreakdowns } from './retries.ts';

export const providerNames = ['openai', 'anthropic', 'gemini', 'azure'] as const satisfies readonly ProviderName[];

/** Where a provider's settings come from. */
export type SettingsSource = 'environment' | 'settings';

export interface EffectiveSettings extends ProviderSettings {
  /** Of the key. */
  source: SettingsSource;
  /** It was entered in-app, so it must be a public one; one of the environment may be any. */
  isAddressEntered: boolean;
}

export interface ProvidersDeps {
  /** Settings that count now, wherever they come from; undefined without a key. */
  find(name: ProviderName): Promise<EffectiveSettings | undefined>;
  /** Checks addresses that were entered in-app. */
  guard: Pick<Guard, 'refusalOf' | 'lookup'>;
  /** Undefined: nothing is kept. */
  replyCache?: ReplyCache | undefined;
  usageMeter: UsageMeterDeps;
  /** Until a reply has come in whole. */
  callTimeoutMs: number;
  /** Waits before a call of bulk work that met a breakdown is made again. */
  retryWaitsSeconds: readonly number[];
}

const maxReplyBytes = 4 * 1024 * 1024;

/** Gives ready providers. Clients are made for every use: they hold nothing but settings, which may have changed, and borrow their connections. */
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
    /** The named provider, or the first configured one, within its limits. `purpose` says whose calls they are. Throws AI_NOT_CONFIGURED, or AI_KEY_INVALID for a key that cannot be one. */
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

/** Limits belong to a key at an address, whoever entered it. */
function limitsOf(
  name: ProviderName,
  { apiKey = '', baseUrl, endpoint, requestsPerMinute, tokensPerMinute }: EffectiveSettings,
) {
  const defaults = providerDefaults[name];
  const account = createHash('sha256')
    .update(JSON.stringify([name, apiKey, baseUrl ?? endpoint ?? '']))
    .digest('base64url')
    .slice(0, 22);
  const allowance = {
    requestsPerMinute: requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: tokensPerMinute ?? defaults.tokensPerMinute,
  };
  return { account, allowance };
}

/** The SDK of a provider, of hundreds of files, is loaded when the provider is first picked. */
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
  const defaults = providerDefaults[name];
  const models = {
    high: found.modelHigh ?? (deployment || defaults.high),
    low: found.modelLow ?? (deployment || defaults.low),
  };
  const fetch = createBoundedFetch({
    maxReplyBytes,
    timeoutMs: callTimeoutMs,
    ...(isAddressEntered ? { guard, connections: connections.guarded } : { connections: connections.own }),
  });
  const common = { apiKey, baseUrl, models, timeoutMs: callTimeoutMs, fetch };
  if (name === 'anthropic') return (await import('./anthropic.ts')).createAnthropic(common);
  const { createAzure, createGemini, createOpenAi } = await import('./openai.ts');
  if (name === 'azure') {
    if (endpoint === undefined || deployment === undefined)
      throw new Problem('AI_NOT_CONFIGURED', 'The AI provider needs an endpoint and a deployment');
    return createAzure({ ...common, endpoint, deployment });
  }
  return name === 'gemini' ? createGemini(common) : createOpenAi(common);
}

/** A key with a line break, or one of another provider, is refused without sending it anywhere. An address that is not the provider's own may want any key. */
export function assertKeyForm(name: ProviderName, apiKey: string, address: string | undefined): void {
  const { key, host } = keyForms[name];
  const isPlain = /^[\x21-\x7e]{1,512}$/.test(apiKey);
  const isProviders = address === undefined || (URL.canParse(address) && host.test(new URL(address).hostname));
  if (!isPlain || (isProviders && !key.test(apiKey)))
    throw new Problem('AI_KEY_INVALID', 'The key does not have the form of a key of this provider');
}
