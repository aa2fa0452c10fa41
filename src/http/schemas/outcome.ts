import { z } from 'zod';
import { outcomes } from '../../domain/outcome.ts';
import { listField } from './query-fields.ts';

export const outcomeSchema = z.enum(outcomes).meta({
  id: 'Outcome',
  description:
    'What became of a response. PARTIAL: saved, and may be continued; COMPLETED; SCREENED_OUT: its path ended in a screen-out; OVER_QUOTA: a quota that it fits was full. All but PARTIAL are complete. Only COMPLETED responses take seats of `responseQuota` and count in `completeResponses`, `completionRate` and durations.',
});

/** The values are strings to `listField`, which takes one or several of them. */
const outcomeText = z.enum(outcomes) as unknown as z.ZodType<string, string>;

const describedBy = 'Only responses with this outcome; may be repeated: any of them';

/** `outcome` of a query. */
export const outcomeField = listField(outcomeText, outcomes.length)
  .pipe(z.array(z.enum(outcomes)))
  .optional()
  .describe(describedBy);

/** `outcome` of a body: one, or a list. */
export const outcomeBodyField = z
  .union([z.array(z.enum(outcomes)).min(1).max(outcomes.length), z.enum(outcomes).transform((one) => [one])])
  .optional()
  .describe('Only responses with this outcome, or with any of a list');

/** What question statistics and crosstabs count without `outcome`. */
export const countedOutcomesText =
  'Counts of questions leave out responses that are SCREENED_OUT or OVER_QUOTA, unless `outcome` or a filter `outcome:…` asks for outcomes.';
