import { type Outcome, outcomes } from './path/definition.ts';

/**
 * The outcome of a response. It is stored as its place in `outcomes`: 0 PARTIAL, 1 COMPLETED, 2 SCREENED_OUT,
 * 3 OVER_QUOTA. Only COMPLETED responses take seats of the quota and count as complete in analytics.
 */
export { type Outcome, outcomes } from './path/definition.ts';

export const numberOfOutcome = (outcome: Outcome): number => outcomes.indexOf(outcome);

/** An unknown number, which only a newer version can have stored, counts as COMPLETED. */
export const outcomeOfNumber = (number: number): Outcome => outcomes[number] ?? 'COMPLETED';

/** Whether the response is complete: it can no longer be continued. */
export const isCompleteOutcome = (outcome: Outcome): boolean => outcome !== 'PARTIAL';

/** Whether the response takes a seat of the survey's quota. */
export const takesSeat = (outcome: Outcome): boolean => outcome === 'COMPLETED';

/** Outcomes that question statistics and crosstabs count unless others are asked for. */
export const analysedOutcomes = ['PARTIAL', 'COMPLETED'] as const satisfies readonly Outcome[];
