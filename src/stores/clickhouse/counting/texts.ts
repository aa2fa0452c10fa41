import type { CountResult, TextKey } from '../../../domain/questions/contract.ts';
import { dottedI, fewestCharacters, wordPattern } from '../../../domain/questions/words.ts';
import { text as literal, whole } from '../query/literals.ts';
import type { ColumnOf } from '../query/selection.ts';
import type { Scan, ScanRow } from './scans.ts';

export type TextCounts = Extract<CountResult, { kind: 'text' }>;

export interface TextRequest {
  slot: number;
  /** The code position that says whether there is a text. */
  presence: number;
  by: TextKey;
}

interface KeyKind {
  /** What is counted of a text. */
  of(text: string): string;
  /** The keys in what was counted, where it is not the key itself. */
  keysIn?(counted: string): string;
  /** How many of the most frequent are given. */
  most: number;
  /** Whether more keys than that are usual, so that those left out are counted, for which all are held at once: the other kinds have few by nature. */
  isCutOff?: true;
}

const apostrophe = literal("'");

const kinds: Record<TextKey, KeyKind> = {
  value: { of: (text) => text, most: 100_000 },
  emailDomain: { of: (text) => `lowerUTF8(arrayElement(splitByChar('@', ${text}), -1))`, most: 100_000 },
  hour: { of: (text) => `substring(${text}, 1, 2)`, most: 24 },
  // Stored as "<upload id> <media type>".
  mediaType: { of: (text) => `substring(${text}, position(${text}, ' ') + 1)`, most: 10_000 },
  // Cut at ASCII signs first, of which words hold none once apostrophes are ’: all that is slow then sees every piece once instead of every text.
  words: { of: (text) => `arrayJoin(tokens(lowerUTF8(replaceAll(${text}, ${apostrophe}, '’'))))`, keysIn: wordsOf, most: 50, isCutOff: true },
};

/** As `wordsIn` of the domain finds them. */
function wordsOf(piece: string): string {
  const plain = `replaceAll(normalizeUTF8NFC(${piece}), ${literal(dottedI)}, 'i')`;
  const words = `arrayFilter(word -> lengthUTF8(word) >= ${whole(fewestCharacters)}, extractAll(${plain}, ${literal(wordPattern)}))`;
  return `arrayJoin(arrayMap(word -> replaceAll(word, '’', ${apostrophe}), ${words}))`;
}

/** How often each key of a text occurs: rows of (0, 0, key, [count]), where keys are cut off (0, 0, key, [count, sum of all counts, number of all keys]). */
export function textScan({ slot, presence, by }: TextRequest, columnOf: ColumnOf): Scan {
  const { of, keysIn = (counted: string) => counted, most, isCutOff } = kinds[by];
  const all = isCutOff ? ', sum(sum(amount)) OVER (), count() OVER ()' : '';
  return {
    isAdditive: false,
    statement: (source) =>
      `SELECT 0 AS place, 0 AS code, ${keysIn('counted')} AS label, [sum(amount)${all}] AS figures FROM
        (SELECT ${of(`texts[${whole(slot + 1)}]`)} AS counted, count() AS amount FROM ${source} AND ${columnOf(presence)} != 0 GROUP BY counted)
       GROUP BY label ORDER BY sum(amount) DESC, label LIMIT ${whole(most)}`,
  };
}

/** Most frequent first, equally frequent ones in order of the key. */
export function collectTexts(rows: readonly ScanRow[]): TextCounts {
  const counts = rows.map(([, , key, [count]]) => ({ key, count: count ?? 0 })).sort((one, other) => other.count - one.count || (one.key < other.key ? -1 : 1));
  const [, all, keys] = rows[0]?.[3] ?? [];
  if (!all || !keys || keys <= counts.length) return { kind: 'text', counts };
  return { kind: 'text', counts, others: { keys: keys - counts.length, count: counts.reduce((rest, { count }) => rest - count, all) } };
}
