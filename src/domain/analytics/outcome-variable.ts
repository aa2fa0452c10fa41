import type { ValidationIssue } from '../../errors.ts';
import { numberOfOutcome, type Outcome, outcomes } from '../outcome.ts';
import type { Dimension } from '../questions/contract.ts';

/** The outcome of a response as a variable of crosstabs, and in filters as `outcome:COMPLETED`. */
export const outcomeVariable = 'outcome';

const texts: Readonly<Record<Outcome, string>> = {
  PARTIAL: 'Partial',
  COMPLETED: 'Completed',
  SCREENED_OUT: 'Screened out',
  OVER_QUOTA: 'Over quota',
};

/** Codes are the outcomes' numbers + 1, since 0 stands for no category. */
export const outcomeDimension: Dimension = {
  categories: outcomes.map((value) => ({ code: numberOfOutcome(value) + 1, value, text: texts[value] })),
  source: { kind: 'outcome' },
};

/** Parses `outcome:VALUE`; undefined for a filter of another variable. */
export function outcomeFilter(text: string): { dimension: Dimension; code: number } | ValidationIssue | undefined {
  if (!text.startsWith(`${outcomeVariable}:`)) return undefined;
  const category = outcomeDimension.categories.find(({ value }) => value === text.slice(outcomeVariable.length + 1));
  return category
    ? { dimension: outcomeDimension, code: category.code }
    : { path: '', message: `names no outcome; they are ${outcomes.join(', ')}` };
}
