import { z } from 'zod';
import { conditionInput } from '../../domain/survey-paths/path-inputs.ts';
import { countSchema, idSchema } from './common.ts';

export const quotaSchema = z
  .strictObject({
    id: idSchema,
    surveyId: idSchema,
    name: z.string(),
    limit: countSchema,
    where: conditionInput,
    counts: z.enum(['COMPLETED', 'STARTED']),
    whenFull: z.enum(['OVER_QUOTA', 'CLOSE', 'COUNT_ONLY']),
    isActive: z.boolean(),
    count: countSchema.describe('Responses that it counts now; 0 while it is not active'),
    share: z.number().nullable().describe('count ÷ limit; null for a limit of 0'),
    isCounting: z
      .boolean()
      .describe(
        'The responses of before are still being counted; until then it refuses nobody. Also true, with a count of 0, in the reply to a change while counts cannot be read',
      ),
  })
  .meta({ id: 'Quota', description: 'A quota by cell: at most `limit` responses for which a condition holds.' });
