import { queryOptions } from '@tanstack/react-query';
import type { AiProviderName } from './ai-jobs.ts';
import { api, type components, dataOf } from './api.ts';
import { queryClient } from './query-client.ts';

export type AiProviderSettings = components['schemas']['AiProviderSettings'];
export type AiUsage = components['schemas']['AiUsage'];

/** The four providers, each with its settings; of keys there are the last four characters. */
export const aiSettingsQuery = () =>
  queryOptions({
    queryKey: ['ai-settings'],
    queryFn: ({ signal }) => dataOf(api.GET('/ai/settings', { signal })),
  });

interface NewAiSettings {
  apiKey: string;
  /** Undefined: the provider's own address. */
  endpoint: string | undefined;
  /** Azure only. */
  deployment: string | undefined;
  /** Undefined: the default of the service. */
  models: { high?: string; low?: string };
}

const changed = () => queryClient.invalidateQueries({ queryKey: ['ai-settings'] });

export async function saveAiSettings(
  provider: AiProviderName,
  { apiKey, endpoint, deployment, models }: NewAiSettings,
): Promise<void> {
  await dataOf(
    api.PUT('/ai/settings/{provider}', {
      params: { path: { provider } },
      body: {
        apiKey,
        models,
        ...(endpoint !== undefined && { endpoint }),
        ...(deployment !== undefined && { deployment }),
      },
    }),
  );
  await changed();
}

/** Forgets key and settings; those of the environment count again. */
export async function removeAiSettings(provider: AiProviderName): Promise<void> {
  await dataOf(api.DELETE('/ai/settings/{provider}', { params: { path: { provider } } }));
  await changed();
}

/** Sends one short call. Resolves when the provider has replied. Throws a SurveyApiError for anything else. */
export const testAiProvider = (provider: AiProviderName): Promise<components['schemas']['AiProviderTest']> =>
  dataOf(api.POST('/ai/settings/{provider}/test', { params: { path: { provider } } }));

/** Calls, tokens and cost from a UTC day (`2026-01-31`) on. */
export const aiUsageQuery = (startDate: string) =>
  queryOptions({
    queryKey: ['ai-usage', startDate],
    queryFn: ({ signal }) => dataOf(api.GET('/ai/usage', { params: { query: { startDate } }, signal })),
  });
