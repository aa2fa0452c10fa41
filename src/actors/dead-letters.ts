import { type DeadLetterRow, readDeadLetterRow, withIdsOnly } from '../domain/dead-letter-row.ts';
import { addedAtMs } from '../stores/redis/intake/entry-id.ts';
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

/** `id`: that of the dead letter. */
type RowFilter = (row: DeadLetterRow, id: string) => boolean;

/** When the response store rejected the row of a dead letter with this id, which is after its submission. */
export const rejectedAtMs = addedAtMs;

/** Reads and removes dead letters by survey and response: an erasure must remove them too. */
export function createDeadLetters({ stream, shards }: DeadLettersDeps) {
  async function* read(...[shard, ids]: Parameters<Stream['findDeadLetters']>): AsyncGenerator<ParsedDeadLetter> {
    for await (const { id, rows, isKnown } of stream.findDeadLetters(shard, ids))
      yield { id, row: isKnown ? readDeadLetterRow(rows) : withIdsOnly(readDeadLetterRow(rows)) };
  }
  async function* readAll(ids?: Parameters<Stream['findDeadLetters']>[1]): AsyncGenerator<ParsedDeadLetter> {
    for (const shard of shards.all) yield* read(shard, ids);
  }
  const ofSurvey = (surveyId: string) => read(shards.of(surveyId), { surveyId });
  return {
    ofSurvey: (surveyId: string): Promise<ParsedDeadLetter[]> => listOf(ofSurvey(surveyId)),
    /** Whether a dead letter of the survey matches; stops reading at the first. */
    async has(surveyId: string, matches: RowFilter): Promise<boolean> {
      for await (const { id, row } of ofSurvey(surveyId)) if (matches(row, id)) return true;
      return false;
    },
    /** Dead letters of one response. */
    ofResponse: (surveyId: string, responseId: string): Promise<ParsedDeadLetter[]> =>
      listOf(read(shards.of(surveyId), { surveyId, responseId })),
    /** Dead letters with this response id, in any survey. */
    withResponseId: (responseId: string): Promise<ParsedDeadLetter[]> => listOf(readAll({ responseId })),
    /** Dead letters of all surveys that match, read once. */
    filter: (matches: RowFilter): Promise<ParsedDeadLetter[]> => listOf(readAll(), matches),
    remove: (surveyId: string, deadLetters: readonly ParsedDeadLetter[]): Promise<void> =>
      stream.removeDeadLetters(
        shards.of(surveyId),
        deadLetters.map(({ id }) => id),
      ),
  };
}

async function listOf(
  deadLetters: AsyncIterable<ParsedDeadLetter>,
  matches: RowFilter = () => true,
): Promise<ParsedDeadLetter[]> {
  const found: ParsedDeadLetter[] = [];
  for await (const deadLetter of deadLetters) if (matches(deadLetter.row, deadLetter.id)) found.push(deadLetter);
  return found;
}

export type DeadLetters = ReturnType<typeof createDeadLetters>;
