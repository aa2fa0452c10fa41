import { Problem } from '../../errors.ts';
import type { ProviderName } from '../../settings/ai-settings.ts';
import type { ProviderOptions } from './openai.ts';
import type { Provider } from './provider.ts';

export interface ProviderDefinition {
  /** Default model of each tier; empty where the deployment decides. */
  high: string;
  low: string;
  /** Default limits. */
  requestsPerMinute: number;
  tokensPerMinute: number;
  /** Form of the provider's keys. Addresses other than its own may take any key. */
  key: RegExp;
  /** Host names of the provider's own API. */
  host: RegExp;
  /** Loads the SDK, which has hundreds of files, and creates the client. */
  create(options: ClientOptions): Promise<Provider>;
}

export interface ClientOptions extends ProviderOptions {
  endpoint?: string | undefined;
  deployment?: string | undefined;
}

/**
 * All AI providers, in the order in which the first configured one is picked. A new one is a file with its client and
 * an entry here.
 */
export const providerRegistry: Readonly<Record<ProviderName, ProviderDefinition>> = {
  openai: {
    high: 'gpt-5.6-terra',
    low: 'gpt-5.6-luna',
    requestsPerMinute: 60,
    tokensPerMinute: 90_000,
    key: /^sk-(?!ant-)[\w-]{16,}$/,
    host: /(^|\.)api\.openai\.com$/,
    create: async (options) => (await import('./openai.ts')).createOpenAi(options),
  },
  anthropic: {
    high: 'claude-sonnet-5-5',
    low: 'claude-haiku-5-5',
    requestsPerMinute: 60,
    tokensPerMinute: 100_000,
    key: /^sk-ant-[\w-]{16,}$/,
    host: /^api\.anthropic\.com$/,
    create: async (options) => (await import('./anthropic.ts')).createAnthropic(options),
  },
  gemini: {
    high: 'gemini-3.8-flash',
    low: 'gemini-3.5-flash-lite',
    requestsPerMinute: 60,
    tokensPerMinute: 120_000,
    // Keys of 2026 begin with "AQ.", older ones with "AIza".
    key: /^(?!sk-)[\w.-]{20,}$/,
    host: /^generativelanguage\.googleapis\.com$/,
    create: async (options) => (await import('./openai.ts')).createGemini(options),
  },
  azure: {
    high: '',
    low: '',
    requestsPerMinute: 60,
    tokensPerMinute: 90_000,
    key: /^[A-Za-z0-9]{20,}$/,
    host: /\.azure\.(com|us|cn)$/,
    async create({ endpoint, deployment, ...options }) {
      if (endpoint === undefined || deployment === undefined)
        throw new Problem('AI_NOT_CONFIGURED', 'The AI provider needs an endpoint and a deployment');
      return (await import('./openai.ts')).createAzure({ ...options, endpoint, deployment });
    },
  },
};

export const providerNames = Object.keys(providerRegistry) as readonly ProviderName[];
