/** US dollars per million tokens. */
interface Price {
  input: number;
  output: number;
}

interface Model extends Price {
  /** For models that think by default: the least effort that they accept. */
  effort?: Effort;
  /** Announced price, from that UTC day on. */
  later?: Price & { from: string };
}

export type Effort = 'none' | 'low';

/**
 * List prices for prompts of up to 100,000 tokens, without discounts, as gathered on 2026-11-21: Anthropic's and some
 * of OpenAI's from their own pages, the others from price lists that quote the vendors. The pages to compare them with:
 * developers.openai.com/api/docs/pricing, platform.claude.com/docs/en/about-claude/pricing,
 * ai.google.dev/gemini-api/docs/pricing.
 */
const models: Readonly<Record<string, Model>> = {
  'gpt-6.1-terra': { input: 1, output: 5, effort: 'low' },
  'gpt-6-sol': { input: 2, output: 10, effort: 'low' },
  'gpt-6-luna': { input: 0.1, output: 0.5, effort: 'low' },
  'gpt-5.6-sol': { input: 5, output: 30, effort: 'low' },
  'gpt-5.6-terra': { input: 2, output: 12, effort: 'low' },
  'gpt-5.6-luna': { input: 0.2, output: 1.2, effort: 'none' },
  'gpt-5.4': { input: 2.5, output: 15 },
  'gpt-5.4-mini': { input: 0.75, output: 4.5 },
  'gpt-5.4-nano': { input: 0.2, output: 1.25 },
  'gpt-5.2': { input: 1.75, output: 14 },
  'gpt-5.1': { input: 1.25, output: 10 },
  // Shut down on 2027-01-14.
  'gpt-4.1': { input: 2, output: 8 },
  'gpt-4.1-mini': { input: 0.4, output: 1.6 },
  'gpt-4o': { input: 2.5, output: 10 },
  'gpt-4o-mini': { input: 0.15, output: 0.6 },
  'claude-fable-5-1': { input: 10, output: 50, effort: 'low' },
  'claude-opus-5-5': { input: 4, output: 20, effort: 'low' },
  'claude-opus-5': { input: 5, output: 25, effort: 'low' },
  'claude-opus-4-8': { input: 5, output: 25 },
  'claude-opus-4-7': { input: 5, output: 25 },
  'claude-opus-4-6': { input: 5, output: 25 },
  'claude-opus-4-5': { input: 5, output: 25 },
  'claude-sonnet-5-5': { input: 2, output: 10, effort: 'low' },
  'claude-sonnet-5': { input: 2, output: 10, effort: 'low' },
  'claude-sonnet-4-6': { input: 3, output: 15 },
  // Shut down on 2026-11-30.
  'claude-sonnet-4-5': { input: 3, output: 15 },
  'claude-haiku-5-5': { input: 0.1, output: 0.5, effort: 'low' },
  'claude-haiku-4-5': { input: 1, output: 5 },
  'gemini-3.8-flash': {
    input: 0.75,
    output: 3.75,
    effort: 'low',
    later: { from: '2027-01-01', input: 1.5, output: 7.5 },
  },
  'gemini-3.5-flash': { input: 1.5, output: 9, effort: 'low' },
  'gemini-3.5-flash-lite': { input: 0.3, output: 2.5, effort: 'low' },
  'gemini-3.1-pro-preview': { input: 2, output: 12, effort: 'low' },
  // Shut down on 2026-12-01, all but the last.
  'gemini-2.5-pro': { input: 1.25, output: 10, effort: 'low' },
  'gemini-2.5-flash': { input: 0.3, output: 2.5, effort: 'low' },
  'gemini-2.5-flash-lite': { input: 0.1, output: 0.4 },
};

/**
 * Finds a model by its name, or by the name of a snapshot (a date or number appended). Other names with the same
 * beginning are other models.
 */
const modelOf = (name: string): Model | undefined =>
  exactModel(name) ?? exactModel(name.replace(/-(\d{8}|\d{4}-\d\d-\d\d|\d{3}|latest)$/, ''));
const exactModel = (name: string): Model | undefined => (Object.hasOwn(models, name) ? models[name] : undefined);

/** Cost of a call in US dollars; null for a model without a known price. */
export function costOf(
  name: string,
  { inputTokens, outputTokens }: { inputTokens: number; outputTokens: number },
  at = new Date(),
): number | null {
  const model = modelOf(name);
  if (!model) return null;
  const price = model.later && at.toISOString() >= model.later.from ? model.later : model;
  return (inputTokens * price.input + outputTokens * price.output) / 1e6;
}

/** The reasoning effort to request; undefined for models without this option, and unknown ones. */
export const effortOf = (name: string): Effort | undefined => modelOf(name)?.effort;

/** Extra output tokens for thinking, which providers count with the reply. Unknown models may think too. */
export function thinkingTokens(name: string): number {
  const model = modelOf(name);
  return !model || model.effort === 'low' ? 4000 : 0;
}
