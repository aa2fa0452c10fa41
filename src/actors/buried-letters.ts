import { readBuriedRow, type BuriedRow } from '../domain/buried-row.ts';
import type { Shards } from '../stores/redis/shards.ts';
import type { Stream } from '../stores/redis/stream.ts';

export interface BuriedLetter {
  id: string;
  row: BuriedRow;
}

export interface BuriedLettersDeps {
  stream: Pick<Stream, 'deadLetters' | 'dropLetters'>;
  shards: Pick<Shards, 'of'>;
}

const readAtOnce = 200;

/** Accepted responses that could not be stored, survey by survey: what is erased must not lie among them either. */
export function createBuriedLetters({ stream, shards }: BuriedLettersDeps) {
  return {
    async of(surveyId: string): Promise<BuriedLetter[]> {
      const found: BuriedLetter[] = [];
      for (let after: string | undefined; ; ) {
        const letters = await stream.deadLetters(shards.of(surveyId), { count: readAtOnce, after });
        for (const { id, rows } of letters) {
          const row = readBuriedRow(rows);
          if (row.surveyId === surveyId) found.push({ id, row });
        }
        after = letters.at(-1)?.id;
        if (letters.length < readAtOnce) return found;
      }
    },
    drop: (surveyId: string, letters: readonly BuriedLetter[]): Promise<void> => stream.dropLetters(shards.of(surveyId), letters.map(({ id }) => id)),
  };
}

export type BuriedLetters = ReturnType<typeof createBuriedLetters>;
