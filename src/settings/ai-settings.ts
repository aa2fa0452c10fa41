import { z } from 'zod';
import { address, documented, flag, integer, longestSeconds, secondsList } from './value-kinds.ts';

export const aiSettings = {
  AI_ANONYMIZE_PII: flag.default(true).meta(
    documented({
      description:
        'Replaces personal data in answers [before they are sent](guide/ai.md#what-a-provider-receives) to a provider.',
    }),
  ),
  AI_BATCH_SIZE: integer(1, 1000)
    .default(50)
    .meta(
      documented({
        description:
          'Answers in one call of an analysis. One for themes asks for 1,000 output tokens and 120 for each answer: a model that writes at most 16,384 takes 128 answers, or 94 where its name is unknown.',
        unit: 'answers',
      }),
    ),
  AI_BATCH_DELAY_MS: integer(0, 3_600_000)
    .default(1000)
    .meta(documented({ description: 'Least wait between two calls of an analysis.', unit: 'milliseconds' })),
  AI_BATCHES_AT_ONCE: integer(1, 32)
    .default(1)
    .meta(documented({ description: 'Calls of one analysis that are under way together.', unit: 'calls' })),
  AI_CALL_TIMEOUT_SECONDS: integer(1, 600)
    .default(90)
    .meta(documented({ description: 'Time for a whole reply of a provider.', unit: 'seconds' })),
  // A job waits for them with a timer, which ends at once if it is longer than 2^31 − 1 ms.
  AI_RETRY_SCHEDULE_SECONDS: secondsList(86_400)
    .default([2, 10, 30])
    .meta(
      documented({
        description: 'Waits before a call of an analysis is repeated after the provider broke down, with commas.',
        unit: 'seconds',
      }),
    ),
  AI_CACHE_ENABLED: flag
    .default(true)
    .meta(documented({ description: 'Keeps replies that fit, so that nothing is asked twice.' })),
  AI_CACHE_TTL_SECONDS: integer(1, longestSeconds)
    .default(3600)
    .meta(
      documented({
        description: 'How long replies are kept: those of analyses not at all, those of reports a day at most.',
        unit: 'seconds',
      }),
    ),
};

/** Settings of each AI provider, with the end of their names after the prefix of the provider. */
export const providerFields = {
  apiKey: {
    suffix: 'API_KEY',
    schema: z
      .string()
      .min(1)
      .optional()
      .meta(documented({ description: 'Key of the account; the provider can be used when it is set.' })),
  },
  baseUrl: {
    suffix: 'BASE_URL',
    schema: address('http:', 'https:')
      .optional()
      .meta(
        documented({
          description: 'Address of a compatible service. Not for Azure.',
          values: 'http or https URL',
          default: 'the provider’s own',
        }),
      ),
  },
  endpoint: {
    suffix: 'ENDPOINT',
    schema: address('http:', 'https:')
      .optional()
      .meta(
        documented({
          description: 'Address of the resource. Azure only, where it is needed.',
          values: 'http or https URL',
        }),
      ),
  },
  deployment: {
    suffix: 'DEPLOYMENT',
    schema: z
      .string()
      .min(1)
      .optional()
      .meta(documented({ description: 'Name of the deployment. Azure only, where it is needed.' })),
  },
  modelHigh: {
    suffix: 'MODEL_HIGH',
    schema: z
      .string()
      .min(1)
      .optional()
      .meta(
        documented({
          description:
            'Model that writes: surveys, reports, conversations. At Azure it only says which model the deployment is, for the price.',
        }),
      ),
  },
  modelLow: {
    suffix: 'MODEL_LOW',
    schema: z
      .string()
      .min(1)
      .optional()
      .meta(documented({ description: 'Model that sorts: analyses. At Azure as for MODEL_HIGH.' })),
  },
  requestsPerMinute: {
    suffix: 'RPM',
    schema: integer(1)
      .optional()
      .meta(documented({ description: 'Requests that the account may send.', unit: 'requests a minute' })),
  },
  tokensPerMinute: {
    suffix: 'TPM',
    schema: integer(1)
      .optional()
      .meta(documented({ description: 'Tokens that the account may use.', unit: 'tokens a minute' })),
  },
};

export const providerPrefixes = {
  openai: 'OPENAI',
  anthropic: 'ANTHROPIC',
  gemini: 'GEMINI',
  azure: 'AZURE_OPENAI',
} as const;
export type ProviderName = keyof typeof providerPrefixes;

export type ProviderSettings = {
  [Field in keyof typeof providerFields]?: NonNullable<z.output<(typeof providerFields)[Field]['schema']>>;
};

/** The settings of one AI provider, by their names. */
export const providerSettings = (name: ProviderName): Readonly<Record<string, z.ZodType>> =>
  Object.fromEntries(
    Object.values(providerFields).map(({ suffix, schema }) => [`${providerPrefixes[name]}_${suffix}`, schema]),
  );
