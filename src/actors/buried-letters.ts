import { namesAlone, readBuriedRow, type BuriedRow } from '../domain/buried-row.ts';
import type { Shards } from '../stores/redis/shards.ts';
import type { Stream } from '../stores/redis/stream.ts';

export interface BuriedLetter {
  id: string;
  row: BuriedRow;
}

export interface BuriedLettersDeps {
  stream: Pick<Stream, 'letters' | 'dropLetters'>;
  shards: Pick<Shards, 'of' | 'all'>;
}

type Wanted = (row: BuriedRow) => boolean;

/** Accepted responses that could not be stored, survey by survey: what is erased must not lie among them either. */
export function createBuriedLetters({ stream, shards }: BuriedLettersDeps) {
  async function* read(...[shard, names]: Parameters<Stream['letters']>): AsyncGenerator<BuriedLetter> {
    for await (const { id, rows, isKnown } of stream.letters(shard, names)) yield { id, row: isKnown ? readBuriedRow(rows) : namesAlone(readBuriedRow(rows)) };
  }
  async function* readAll(names?: Parameters<Stream['letters']>[1]): AsyncGenerator<BuriedLetter> {
    for (const shard of shards.all) yield* read(shard, names);
  }
  const ofSurvey = (surveyId: string) => read(shards.of(surveyId), { surveyId });
  return {
    of: (surveyId: string): Promise<BuriedLetter[]> => listOf(ofSurvey(surveyId)),
    /** Whether one of the survey's is wanted: no more are read than it takes. */
    async has(surveyId: string, isWanted: Wanted): Promise<boolean> {
      for await (const { row } of ofSurvey(surveyId)) if (isWanted(row)) return true;
      return false;
    },
    /** Those of one response. */
    ofResponse: (surveyId: string, responseId: string): Promise<BuriedLetter[]> => listOf(read(shards.of(surveyId), { surveyId, responseId })),
    /** Those of a response of whatever survey. */
    named: (responseId: string): Promise<BuriedLetter[]> => listOf(readAll({ responseId })),
    /** Those of all surveys that are wanted: whoever asks for many surveys reads them once. */
    among: (isWanted: Wanted): Promise<BuriedLetter[]> => listOf(readAll(), isWanted),
    drop: (surveyId: string, letters: readonly BuriedLetter[]): Promise<void> => stream.dropLetters(shards.of(surveyId), letters.map(({ id }) => id)),
  };
}

async function listOf(letters: AsyncIterable<BuriedLetter>, isWanted: Wanted = () => true): Promise<BuriedLetter[]> {
  const found: BuriedLetter[] = [];
  for await (const letter of letters) if (isWanted(letter.row)) found.push(letter);
  return found;
}

export type BuriedLetters = ReturnType<typeof createBuriedLetters>;
