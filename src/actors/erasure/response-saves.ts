import { isCompleteOutcome } from '../../domain/outcome.ts';
import type { ResponseHead } from '../../domain/response-row.ts';
import type { ResponseMarkedForDeletion } from '../../stores/clickhouse/write/erasure.ts';
import type { ParsedDeadLetter } from '../dead-letters.ts';

/** The saves that these dead letters hold, of those that can be read. */
export const headsOf = (deadLetters: readonly ParsedDeadLetter[]): ResponseHead[] =>
  deadLetters.flatMap(({ row: { head } }) => head ?? []);

/** Tells the responses of a survey apart, also those with one id: it may have been used again after it was evicted. */
export const responseKey = ({
  responseId,
  submittedAtMs,
}: Pick<ResponseMarkedForDeletion, 'responseId' | 'submittedAtMs'>): string => `${responseId} ${submittedAtMs}`;

/**
 * The responses; each has the outcome of the save that completed it, if it is among these saves. The saves are of dead
 * letters, which are in the stream again once they are requeued: the last save of their responses is not known.
 */
export function withCompletions(
  responses: readonly ResponseMarkedForDeletion[],
  saves: readonly ResponseMarkedForDeletion[],
): ResponseMarkedForDeletion[] {
  const completions = new Map(
    saves.filter(({ outcome }) => isCompleteOutcome(outcome)).map((save) => [responseKey(save), save.outcome]),
  );
  const waiting = new Set(saves.map(responseKey));
  return responses.map((response) => ({
    ...response,
    lastSavedAtMs: waiting.has(responseKey(response)) ? undefined : response.lastSavedAtMs,
    outcome: isCompleteOutcome(response.outcome)
      ? response.outcome
      : (completions.get(responseKey(response)) ?? response.outcome),
  }));
}

/** One element for each response, with the outcome of the save that completed it. */
export function uniqueResponses(saves: readonly ResponseMarkedForDeletion[]): ResponseMarkedForDeletion[] {
  const first = new Map<string, ResponseMarkedForDeletion>();
  for (const save of saves) if (!first.has(responseKey(save))) first.set(responseKey(save), save);
  return withCompletions([...first.values()], saves);
}
