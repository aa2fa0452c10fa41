import { z } from 'zod';
import { providerSchema } from './ai.ts';
import { countSchema, daySchema } from './common.ts';

const usageCounters = {
  calls: countSchema,
  failedCalls: countSchema.describe('Those without a reply; their tokens are not known'),
  inputTokens: countSchema,
  outputTokens: countSchema,
  costUsd: z.number().min(0).nullable().describe('US dollars by list prices; null where no price is known'),
  unpricedCalls: countSchema.describe('Calls to models whose price is not known: they are not in `costUsd`'),
};

export const usageSchema = z
  .strictObject({
    ...usageCounters,
    byModel: z
      .array(z.strictObject({ provider: providerSchema, model: z.string(), ...usageCounters }))
      .describe('The dearest first'),
    byTask: z.array(z.strictObject({ task: z.string(), ...usageCounters })),
    byDay: z.array(z.strictObject({ day: daySchema, ...usageCounters })).describe('UTC days with calls, oldest first'),
  })
  .meta({ id: 'AiUsage', description: 'What calls to AI providers took.' });
