import { beginningOf, namesAlone, readBuriedRow, type BuriedRow } from '../domain/buried-row.ts';
import type { Shard, Shards } from '../stores/redis/shards.ts';
import type { Stream } from '../stores/redis/stream.ts';

export interface BuriedLetter {
  id: string;
  row: BuriedRow;
}

export interface BuriedLettersDeps {
  stream: Pick<Stream, 'deadLetters' | 'dropLetters'>;
  shards: Pick<Shards, 'of' | 'all'>;
}

type Wanted = (row: BuriedRow) => boolean;

/** Of what may be a quarter of a megabyte each. */
const readAtOnce = 50;
const nothing = Buffer.alloc(0);

/** Accepted responses that could not be stored, survey by survey: what is erased must not lie among them either. */
export function createBuriedLetters({ stream, shards }: BuriedLettersDeps) {
  /** `beginning`: only rows that begin so are read. */
  const lyingIn = async (shard: Shard, isWanted: Wanted, beginning: Buffer = nothing): Promise<BuriedLetter[]> => {
    const found: BuriedLetter[] = [];
    for (let after: string | undefined; ; ) {
      const letters = await stream.deadLetters(shard, { count: readAtOnce, after });
      for (const { id, rows, isKnown } of letters) {
        if (!rows.subarray(0, beginning.length).equals(beginning)) continue;
        const row = isKnown ? readBuriedRow(rows) : namesAlone(readBuriedRow(rows));
        if (isWanted(row)) found.push({ id, row });
      }
      after = letters.at(-1)?.id;
      if (letters.length < readAtOnce) return found;
    }
  };
  return {
    of: (surveyId: string): Promise<BuriedLetter[]> => lyingIn(shards.of(surveyId), (row) => row.surveyId === surveyId, beginningOf(surveyId)),
    /** Those of one response. */
    ofResponse: (surveyId: string, responseId: string): Promise<BuriedLetter[]> => lyingIn(shards.of(surveyId), () => true, beginningOf(surveyId, responseId)),
    /** Those of all surveys that are wanted: whoever asks for many surveys reads them once. */
    async among(isWanted: Wanted): Promise<BuriedLetter[]> {
      const found: BuriedLetter[] = [];
      for (const shard of shards.all) found.push(...(await lyingIn(shard, isWanted)));
      return found;
    },
    drop: (surveyId: string, letters: readonly BuriedLetter[]): Promise<void> => stream.dropLetters(shards.of(surveyId), letters.map(({ id }) => id)),
  };
}

export type BuriedLetters = ReturnType<typeof createBuriedLetters>;
