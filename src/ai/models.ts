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

/** US dollars a million tokens, by the beginning of a model's name; the longest that fits counts. List prices, without discounts. */
const prices: Readonly<Record<string, { input: number; output: number }>> = {
  'gpt-4.1': { input: 2, output: 8 },
  'gpt-4.1-mini': { input: 0.4, output: 1.6 },
  'gpt-4.1-nano': { input: 0.1, output: 0.4 },
  'gpt-4o': { input: 2.5, output: 10 },
  'gpt-4o-mini': { input: 0.15, output: 0.6 },
  'claude-opus-4-5': { input: 5, output: 25 },
  'claude-sonnet-4': { input: 3, output: 15 },
  'claude-haiku-4-5': { input: 1, output: 5 },
  'gemini-2.5-pro': { input: 1.25, output: 10 },
  'gemini-2.5-flash': { input: 0.3, output: 2.5 },
  'gemini-2.5-flash-lite': { input: 0.1, output: 0.4 },
};

/** What a call cost, in US dollars; null for a model whose price is not known. */
export function costOf(model: string, { inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }): number | null {
  const name = Object.keys(prices).filter((start) => model.startsWith(start)).sort((one, other) => other.length - one.length)[0];
  const price = name === undefined ? undefined : prices[name];
  return price ? (inputTokens * price.input + outputTokens * price.output) / 1e6 : null;
}
