import type { CountResult, TextKey } from '../../../domain/questions/contract.ts';
import {
  commonWordPattern,
  dottedI,
  minWordLength,
  uncommonPattern,
  wordPattern,
} from '../../../domain/questions/words.ts';
import type { ColumnOf } from '../read/selection.ts';
import { sqlInteger, sqlString } from '../sql-literals.ts';
import type { PlanContext, Step, WordReading } from './plan-context.ts';
import type { Scan, ScanRow } from './scans.ts';

export type TextCounts = Extract<CountResult, { kind: 'text' }>;

export interface TextRequest {
  slot: number;
  /** Code position that is not 0 if there is a text. */
  presence: number;
  by: TextKey;
}

interface TextKeyKind {
  /** SQL for what is grouped first; of words, pieces of text. */
  of(text: string): string;
  /** SQL for the keys in what was grouped, if they differ. */
  keysIn?(counted: string, reading: WordReading): string;
  /** Maximum number of keys, the most frequent ones. */
  maxKeys: number;
  /**
   * Whether the keys left out are counted too. Needs memory for all distinct keys, so only words do it, which often
   * exceed `maxKeys`.
   */
  isCutOff?: true;
}

const apostrophe = sqlString("'");

const textKeyKinds: Record<TextKey, TextKeyKind> = {
  value: { of: (text) => text, maxKeys: 100_000 },
  emailDomain: { of: (text) => `lowerUTF8(arrayElement(splitByChar('@', ${text}), -1))`, maxKeys: 100_000 },
  hour: { of: (text) => `substring(${text}, 1, 2)`, maxKeys: 24 },
  // Stored as "<upload id> <media type>".
  mediaType: { of: (text) => `substring(${text}, position(${text}, ' ') + 1)`, maxKeys: 10_000 },
  // Splits at ASCII punctuation first (words contain none once apostrophes are ’), so that the slow pattern runs once
  // for each distinct piece.
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

/** Replaces the words of a piece that needs the full pattern; no word is empty. */
const unmatchedWord = "''";

/** SQL for the words of a piece, the same as `wordsIn` of the domain finds. */
function wordListOf(piece: string, reading: WordReading): string {
  const found = (text: string, pattern: string): string =>
    `arrayFilter(word -> lengthUTF8(word) >= ${sqlInteger(minWordLength)}, extractAll(${text}, ${sqlString(pattern)}))`;
  const words =
    reading === 'usual'
      ? `if(match(${piece}, ${sqlString(uncommonPattern)}), [${unmatchedWord}], ${found(piece, commonWordPattern)})`
      : found(`replaceAll(normalizeUTF8NFC(${piece}), ${sqlString(dottedI)}, 'i')`, wordPattern);
  return `arrayMap(word -> replaceAll(word, '’', ${apostrophe}), ${words})`;
}

/**
 * Counts the keys of one text: rows of (0, 0, key, [count]), and if `isCutOff`
 * (0, 0, key, [count, sum of all counts, number of all keys, 1 if any piece needs the full pattern]).
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

/** Texts share a scan, because each scan reads the `texts` of all questions. The bound limits the memory for keys. */
const maxTextsPerScan = 8;

/** Counts the keys of several texts in one scan: rows of (place in `requests`, 0, key, [all four figures]). */
function textsScan(requests: readonly TextRequest[], columnOf: ColumnOf, reading: WordReading): Scan {
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

/** Up to this many texts, separate scans are planned as fast as a shared one. */
const maxSeparateTexts = 4;

/** Counts the keys of texts, in as few scans as the number of responses suggests. */
export function textStep(
  requests: readonly TextRequest[],
  { columnOf, isSmall, reading }: PlanContext,
): Step<{ textCounts: Map<TextRequest, TextCounts>; areWordsRight: boolean }> {
  const together = requests.length > (isSmall ? 1 : maxSeparateTexts) ? maxTextsPerScan : 1;
  const groups = Array.from({ length: Math.ceil(requests.length / together) }, (_, index) =>
    requests.slice(index * together, (index + 1) * together),
  );
  return {
    scans: groups.map((group) =>
      group.length === 1 && group[0] ? textScan(group[0], columnOf, reading) : textsScan(group, columnOf, reading),
    ),
    collect(rows) {
      const found = groups.flatMap((group, index) =>
        group.map((request, place) => [request, (rows[index] ?? []).filter(([at]) => at === place)] as const),
      );
      return {
        textCounts: new Map(found.map(([request, counts]) => [request, collectTexts(counts)])),
        areWordsRight: reading === 'any' || !found.some(([request, counts]) => needsFullWordPattern(request, counts)),
      };
    },
  };
}

/** Sorts by descending count, then by key. */
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

/** Whether the usual pattern met a piece that it cannot match, so that its counts are wrong. */
function needsFullWordPattern({ by }: TextRequest, rows: readonly ScanRow[]): boolean {
  return by === 'words' && rows.some(([, , , [, , , isNotUnderstood]]) => isNotUnderstood === 1);
}
