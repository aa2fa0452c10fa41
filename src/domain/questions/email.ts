import { z } from 'zod';
import type { QuestionType } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { createTextType, keyedCounts } from './text.ts';
import { isEmailAddress } from './text-checks.ts';

/** An e-mail address; counted by its domain. */
export const email: QuestionType = createTextType({
  settings: z.strictObject({}),
  by: 'emailDomain',
  problemOf: (text) => (isEmailAddress(text) ? undefined : 'must be a valid e-mail address'),
  statistic: (_question, results, base) => ({ ...blankStatistic(), ...keyedCounts(results, base) }),
  noDimension: 'is an e-mail address, which has no categories',
});
