import type { TextKey } from '../../../domain/questions/contract.ts';
import { whole } from '../query/literals.ts';
import type { CountingScope } from './numbers.ts';

export interface TextRequest {
  slot: number;
  /** The code position that says whether there is a text. */
  presence: number;
  by: TextKey;
}

/** What is counted of a text, and how many of the most frequent are given. Only words are cut off: the others have few keys by nature. */
const keys: Record<TextKey, { of(text: string): string; most: number }> = {
  value: { of: (text) => text, most: 100_000 },
  emailDomain: { of: (text) => `lowerUTF8(arrayElement(splitByChar('@', ${text}), -1))`, most: 100_000 },
  hour: { of: (text) => `substring(${text}, 1, 2)`, most: 24 },
  mediaType: { of: (text) => `lower(${text})`, most: 10_000 },
  words: { of: (text) => `arrayJoin(extractAll(lowerUTF8(${text}), '[\\\\p{L}\\\\p{N}]{2,}'))`, most: 50 },
};

/** How often each key of a text occurs, most frequent first, equally frequent ones in order of the key. */
export async function countTexts({ clickhouse, source, columnOf, timeoutMs }: CountingScope, { slot, presence, by }: TextRequest): Promise<{ key: string; count: number }[]> {
  const { of, most } = keys[by];
  const rows = await clickhouse.select<[string, number]>(
    `SELECT ${of(`texts[${whole(slot + 1)}]`)} AS key, count() AS amount FROM ${source} AND ${columnOf(presence)} != 0 GROUP BY key ORDER BY amount DESC, key LIMIT ${whole(most)}`,
    { timeoutMs },
  );
  return rows.map(([key, count]) => ({ key, count }));
}
