import { createProviders } from '../src/ai/providers/providers.ts';
import { providerNames } from '../src/ai/providers/registry.ts';
import { Problem } from '../src/errors.ts';
import { createLog } from '../src/log.ts';
import { newId } from '../src/platform/ids.ts';
import { readSettings } from '../src/settings/settings.ts';
import { createGuard } from '../src/webhooks/guard.ts';
import { evaluateProvider } from './support/ai-evaluation.ts';

/**
 * Scores every provider that has a key in the environment by the prompts of the service: a line each, then a line of
 * JSON each. Six calls a provider, or twice as many where replies have to be repaired; nothing is limited or kept. Ends
 * with 2 where no provider has a key, and with 1 where a call failed.
 */
const settings = readSettings(process.env);
const named = providerNames.filter((name) => settings.ai.providers[name].apiKey !== undefined);
const nothing = async () => undefined;
const providers = createProviders({
  find: async (name) => ({ ...settings.ai.providers[name], isAddressEntered: false, source: 'environment' }),
  guard: createGuard({ isPrivateAllowed: false }),
  callTimeoutMs: settings.ai.callTimeoutMs,
  retryWaitsSeconds: settings.ai.retryWaitsSeconds,
  usageMeter: {
    budget: { acquire: async () => 0, recordUsage: nothing, pause: nothing },
    usage: { record: nothing },
    surveys: { isEnabled: async () => true },
    maxWaitMs: 0,
    retryOnOutage: (step) => step(),
    newId: () => newId(),
    log: createLog('warn'),
  },
});

if (named.length === 0) {
  console.log('No provider has a key: set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or AZURE_OPENAI_API_KEY');
  process.exitCode = 2;
}
for (const name of named) {
  const provider = await providers.pick(name).catch((error: unknown) => {
    if (error instanceof Problem) return error;
    throw error;
  });
  if (provider instanceof Problem) {
    console.log(`${name.padEnd(9)} cannot be asked: ${provider.code}, ${provider.message}`);
    process.exitCode = 1;
    continue;
  }
  const scores = await evaluateProvider(provider, AbortSignal.timeout(10 * 60_000));
  const failed = Object.entries(scores.failures).map(([task, code]) => `${task}: ${code}`);
  console.log(
    `${name.padEnd(9)} (${scores.models.high}, ${scores.models.low}) surveys valid ${scores.generation}, in their language ${scores.language}, sentiment agrees ${scores.sentiment}, answers with themes ${scores.assigned}, themes found ${scores.themes}, ${scores.seconds} s${failed.length > 0 ? `; failed: ${failed.join(', ')}` : ''}`,
  );
  console.log(JSON.stringify({ eval: 'ai', ...scores }));
  if (failed.length > 0) process.exitCode = 1;
}
