import { type DeadLetterRow, readDeadLetterRow, withIdsOnly } from '../domain/dead-letter-row.ts';
import type { Shards } from '../stores/redis/intake/shards.ts';
import type { Stream } from '../stores/redis/intake/stream.ts';

export interface ParsedDeadLetter {
  id: string;
  row: DeadLetterRow;
}

export interface DeadLettersDeps {
  stream: Pick<Stream, 'findDeadLetters' | 'removeDeadLetters'>;
  shards: Pick<Shards, 'of' | 'all'>;
}

type RowFilter = (row: DeadLetterRow) => boolean;

/** Accepted responses that could not be stored, survey by survey: what is erased must not lie among them either. */
export function createDeadLetters({ stream, shards }: DeadLettersDeps) {
  async function* read(...[shard, names]: Parameters<Stream['findDeadLetters']>): AsyncGenerator<ParsedDeadLetter> {
    for await (const { id, rows, isKnown } of stream.findDeadLetters(shard, names))
      yield { id, row: isKnown ? readDeadLetterRow(rows) : withIdsOnly(readDeadLetterRow(rows)) };
  }
  async function* readAll(names?: Parameters<Stream['findDeadLetters']>[1]): AsyncGenerator<ParsedDeadLetter> {
    for (const shard of shards.all) yield* read(shard, names);
  }
  const ofSurvey = (surveyId: string) => read(shards.of(surveyId), { surveyId });
  return {
    ofSurvey: (surveyId: string): Promise<ParsedDeadLetter[]> => listOf(ofSurvey(surveyId)),
    /** Whether one of the survey's is wanted: no more are read than it takes. */
    async has(surveyId: string, isWanted: RowFilter): Promise<boolean> {
      for await (const { row } of ofSurvey(surveyId)) if (isWanted(row)) return true;
      return false;
    },
    /** Those of one response. */
    ofResponse: (surveyId: string, responseId: string): Promise<ParsedDeadLetter[]> =>
      listOf(read(shards.of(surveyId), { surveyId, responseId })),
    /** Those of a response of whatever survey. */
    withResponseId: (responseId: string): Promise<ParsedDeadLetter[]> => listOf(readAll({ responseId })),
    /** Those of all surveys that are wanted: whoever asks for many surveys reads them once. */
    filter: (isWanted: RowFilter): Promise<ParsedDeadLetter[]> => listOf(readAll(), isWanted),
    drop: (surveyId: string, letters: readonly ParsedDeadLetter[]): Promise<void> =>
      stream.removeDeadLetters(
        shards.of(surveyId),
        letters.map(({ id }) => id),
      ),
  };
}

async function listOf(
  letters: AsyncIterable<ParsedDeadLetter>,
  isWanted: RowFilter = () => true,
): Promise<ParsedDeadLetter[]> {
  const found: ParsedDeadLetter[] = [];
  for await (const letter of letters) if (isWanted(letter.row)) found.push(letter);
  return found;
}

export type DeadLetters = ReturnType<typeof createDeadLetters>;
