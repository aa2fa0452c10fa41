import type { CountResult, TextKey } from '../../../domain/questions/contract.ts';
import {
  commonWordPattern,
  dottedI,
  minWordLength,
  uncommonPattern,
  wordPattern,
} from '../../../domain/questions/words.ts';
import type { ColumnOf } from '../read/selection.ts';
import { sqlString as literal, sqlInteger } from '../sql-literals.ts';
import type { Scan, ScanRow } from './scans.ts';

export type TextCounts = Extract<CountResult, { kind: 'text' }>;

export interface TextRequest {
  slot: number;
  /** The code position that says whether there is a text. */
  presence: number;
  by: TextKey;
}

/**
 * How words are found. The pattern that knows all scripts takes ClickHouse longer to compile, several times a statement, than some ten
 * thousand texts to count; so words are taken for usual ones until a text proves that they are not.
 */
export type WordReading = 'usual' | 'any';

interface TextKeyKind {
  /** What is counted of a text. */
  of(text: string): string;
  /** The keys in what was counted, where it is not the key itself. */
  keysIn?(counted: string, reading: WordReading): string;
  /** How many of the most frequent are given. */
  maxKeys: number;
  /** Whether more keys than that are usual, so that those left out are counted, for which all are held at once: the other kinds have few by nature. */
  isCutOff?: true;
}

const apostrophe = literal("'");

const textKeyKinds: Record<TextKey, TextKeyKind> = {
  value: { of: (text) => text, maxKeys: 100_000 },
  emailDomain: { of: (text) => `lowerUTF8(arrayElement(splitByChar('@', ${text}), -1))`, maxKeys: 100_000 },
  hour: { of: (text) => `substring(${text}, 1, 2)`, maxKeys: 24 },
  // Stored as "<upload id> <media type>".
  mediaType: { of: (text) => `substring(${text}, position(${text}, ' ') + 1)`, maxKeys: 10_000 },
  // Cut at ASCII signs first, of which words hold none once apostrophes are ’: all that is slow then sees every piece once instead of every text.
  words: {
    of: (text) => `arrayJoin(${tokensOf(text)})`,
    keysIn: (piece, reading) => `arrayJoin(${wordListOf(piece, reading)})`,
    maxKeys: 50,
    isCutOff: true,
  },
};

const piecesOf = (by: TextKey, text: string): string =>
  by === 'words' ? tokensOf(text) : `[${textKeyKinds[by].of(text)}]`;

function tokensOf(text: string): string {
  return `tokens(lowerUTF8(replaceAll(${text}, ${apostrophe}, '’')))`;
}

/** Stands, instead of its words, for a piece that the usual reading does not understand; no word is empty. */
const unmatchedWord = "''";

/** As `wordsIn` of the domain finds them. */
function wordListOf(piece: string, reading: WordReading): string {
  const found = (text: string, pattern: string): string =>
    `arrayFilter(word -> lengthUTF8(word) >= ${sqlInteger(minWordLength)}, extractAll(${text}, ${literal(pattern)}))`;
  const words =
    reading === 'usual'
      ? `if(match(${piece}, ${literal(uncommonPattern)}), [${unmatchedWord}], ${found(piece, commonWordPattern)})`
      : found(`replaceAll(normalizeUTF8NFC(${piece}), ${literal(dottedI)}, 'i')`, wordPattern);
  return `arrayMap(word -> replaceAll(word, '’', ${apostrophe}), ${words})`;
}

/**
 * How often each key of a text occurs: rows of (0, 0, key, [count]), where keys are cut off
 * (0, 0, key, [count, sum of all counts, number of all keys, whether any piece was not understood]).
 */
export function textScan({ slot, presence, by }: TextRequest, columnOf: ColumnOf, reading: WordReading): Scan {
  const { of, keysIn = (counted: string) => counted, maxKeys, isCutOff } = textKeyKinds[by];
  const all = isCutOff ? `, sum(sum(amount)) OVER (), count() OVER (), max(label = ${unmatchedWord}) OVER ()` : '';
  return {
    isAdditive: false,
    statement: (source) =>
      `SELECT 0 AS place, 0 AS code, ${keysIn('counted', reading)} AS label, [sum(amount)${all}] AS figures FROM
        (SELECT ${of(`texts[${sqlInteger(slot + 1)}]`)} AS counted, count() AS amount FROM ${source} AND ${columnOf(presence)} != 0 GROUP BY counted)
       GROUP BY label ORDER BY sum(amount) DESC, label LIMIT ${sqlInteger(maxKeys)}`,
  };
}

/** Several texts share a scan, as each scan reads the texts of all questions; of more, the keys of a block of rows would take much memory. */
export const maxTextsPerScan = 8;

/** The same of several texts in one scan: rows of (place in `requests`, 0, key, [all four]). */
export function textsScan(requests: readonly TextRequest[], columnOf: ColumnOf, reading: WordReading): Scan {
  const counted = requests.map(
    ({ slot, presence, by }) => `if(${columnOf(presence)} != 0, ${piecesOf(by, `texts[${sqlInteger(slot + 1)}]`)}, [])`,
  );
  const ofWords = requests.flatMap(({ by }, place) => (textKeyKinds[by].keysIn ? [place] : []));
  const key =
    ofWords.length === 0
      ? 'counted'
      : `arrayJoin(if(place IN (${ofWords.join(', ')}), ${wordListOf('counted', reading)}, [counted]))`;
  const most = `[${requests.map(({ by }) => sqlInteger(textKeyKinds[by].maxKeys)).join(', ')}][place + 1]`;
  return {
    isAdditive: false,
    statement: (source) =>
      `SELECT place, 0 AS code, label, [total, sum(total) OVER (PARTITION BY place), count() OVER (PARTITION BY place), max(label = ${unmatchedWord}) OVER (PARTITION BY place)] AS figures FROM
        (SELECT place, ${key} AS label, sum(amount) AS total FROM
          (SELECT toUInt64(position - 1) AS place, arrayJoin(pieces) AS counted, count() AS amount FROM (SELECT [${counted.join(', ')}] AS found FROM ${source})
           ARRAY JOIN found AS pieces, arrayEnumerate(found) AS position GROUP BY place, counted)
         GROUP BY place, label)
       QUALIFY row_number() OVER (PARTITION BY place ORDER BY total DESC, label) <= ${most}`,
  };
}

/** Most frequent first, equally frequent ones in order of the key. */
export function collectTexts(rows: readonly ScanRow[]): TextCounts {
  const counts = rows
    .map(([, , key, [count]]) => ({ key, count: count ?? 0 }))
    .sort((one, other) => other.count - one.count || (one.key < other.key ? -1 : 1));
  const [, all, keys] = rows[0]?.[3] ?? [];
  if (!all || !keys || keys <= counts.length) return { kind: 'text', counts };
  return {
    kind: 'text',
    counts,
    others: { keys: keys - counts.length, count: counts.reduce((rest, { count }) => rest - count, all) },
  };
}

/** Whether the usual reading met a piece that it does not understand: then what it counted is wrong. */
export function needsFullWordPattern({ by }: TextRequest, rows: readonly ScanRow[]): boolean {
  return by === 'words' && rows.some(([, , , [, , , isNotUnderstood]]) => isNotUnderstood === 1);
}
