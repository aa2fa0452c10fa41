import { readDeadLetterRow } from '../../src/domain/dead-letter-row.ts';
import type { Shard } from '../../src/stores/redis/intake/shards.ts';
import type { DeadLetter, Stream } from '../../src/stores/redis/intake/stream.ts';

/** Dead letters with these rows, each with an id of its own. */
export const deadLettersOf = (rows: readonly string[]): DeadLetter[] =>
  rows.map((row, index) => ({ id: `${index}-1`, reason: 'for this test', rows: Buffer.from(row), isKnown: true }));

/** A `findDeadLetters` that searches these dead letters. */
export function fakeDeadLetters(lying: (shard: Shard) => readonly DeadLetter[]): Stream['findDeadLetters'] {
  return async function* (shard, { surveyId, responseId } = {}) {
    for (const letter of lying(shard)) {
      const names = readDeadLetterRow(letter.rows);
      if ((surveyId ?? names.surveyId) === names.surveyId && (responseId ?? names.responseId) === names.responseId)
        yield letter;
    }
  };
}
