import type { ProviderName } from '../settings.ts';

/** Models and limits where nothing else is set. Limits a minute as the specification names them; D is like A. */
export const providerDefaults: Readonly<Record<ProviderName, { high: string; low: string; requestsPerMinute: number; tokensPerMinute: number }>> = {
  openai: { high: 'gpt-4.1', low: 'gpt-4.1-mini', requestsPerMinute: 60, tokensPerMinute: 90_000 },
  anthropic: { high: 'claude-sonnet-4-5', low: 'claude-haiku-4-5', requestsPerMinute: 60, tokensPerMinute: 100_000 },
  gemini: { high: 'gemini-2.5-pro', low: 'gemini-2.5-flash', requestsPerMinute: 60, tokensPerMinute: 120_000 },
  // The deployment decides the model.
  azure: { high: '', low: '', requestsPerMinute: 60, tokensPerMinute: 90_000 },
};

/** What a key of the provider looks like at its own address; a proxy may want others. */
export const keyForms: Readonly<Record<ProviderName, RegExp>> = {
  openai: /^sk-[\w-]{16,}$/,
  anthropic: /^sk-ant-[\w-]{16,}$/,
  gemini: /^[\w-]{20,}$/,
  azure: /^[A-Za-z0-9]{20,}$/,
};
