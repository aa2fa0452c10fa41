import {
  bitOfCode,
  bitsPerWord,
  type Category,
  type Dimension,
  type SkippedRule,
  skippedCode,
} from '../../../domain/questions/contract.ts';
import { type ColumnOf, collectorColumn, hasMetadata, languageCode } from '../read/selection.ts';
import { sqlInteger } from '../sql-literals.ts';
import { isMarked, isOfVersions } from './not-asked.ts';
import { type Scan, type ScanRow, sumByCode } from './scans.ts';

/**
 * A dimension in SQL: stored words to group by, and the codes that a group of words stands for. Grouping by stored
 * words and decoding the groups makes questions with several answers as cheap as those with one.
 */
export interface DimensionWords {
  /** Expressions over a response; at least one. */
  words: string[];
  /** SQL for the dimension's codes as Array(UInt32), from the words under these names. */
  codesOf(names: readonly string[]): string;
}

/** `found`: the column with the codes of AI annotations, as `annotationCodes` selects them. */
export function dimensionWords(dimension: Dimension, columnOf: ColumnOf, found: string): DimensionWords {
  const { words, codesOf } = sourceWords(dimension, columnOf, found);
  if (!dimension.skipped) return { words, codesOf };
  return {
    words: [...words, isSkipped(dimension.skipped, columnOf)],
    codesOf: (names) => `if(${names.at(-1)} = 1, ${codeList([skippedCode])}, ${codesOf(names.slice(0, -1))})`,
  };
}

/** SQL that is 1 for responses that were asked and did not answer, else 0. */
function isSkipped({ slots, notAsked, absentIn, later, markedFrom }: SkippedRule, columnOf: ColumnOf): string {
  const isAny = (positions: readonly number[]): string =>
    positions.length === 0 ? '0' : `(${positions.map((slot) => `${columnOf(slot)} != 0`).join(' OR ')})`;
  const bits = notAsked.map(({ slot, mask }) => `bitAnd(${columnOf(slot)}, ${sqlInteger(mask)}) = 0`);
  const ofVersion = absentIn === undefined ? [] : [`NOT (${isOfVersions(absentIn)})`];
  return `toUInt16(${[`NOT ${isAny(slots)}`, ...bits, ...ofVersion, `(${isMarked(markedFrom)} OR ${isAny(later)})`].join(' AND ')})`;
}

function sourceWords({ categories, source }: Dimension, columnOf: ColumnOf, found: string): DimensionWords {
  const known = categories.map(({ code }) => code);
  const bitsOf: DimensionWords['codesOf'] = (names) =>
    `arrayConcat(${names.map((word, index) => `arrayMap(bit -> toUInt32(bit + ${index * bitsPerWord + 1}), bitPositionsToArray(${word}))`).join(', ')})`;
  const only = (expression: string): string => `arrayIntersect([toUInt32(${expression})], ${codeList(known)})`;
  switch (source.kind) {
    case 'outcome':
      return { words: ['toUInt16(is_complete + 1)'], codesOf: ([word = '']) => only(word) };
    case 'language':
      return { words: [languageCode(source.tags)], codesOf: ([word = '']) => only(word) };
    case 'metadata':
      return { words: [`toUInt16(${hasMetadata(source)})`], codesOf: ([word = '']) => only(word) };
    case 'code':
      return { words: [columnOf(source.slot)], codesOf: ([word = '']) => only(word) };
    case 'collector':
      return { words: [collectorColumn(source, columnOf)], codesOf: ([word = '']) => only(`${word} + 1`) };
    case 'bits': {
      const masks = wordMasks(known);
      return {
        words: source.slots.map((slot, index) => wordOf(columnOf(slot), masks.get(index) ?? 0)),
        codesOf: bitsOf,
      };
    }
    case 'first':
      return { words: [firstRanked(source.items, columnOf)], codesOf: ([word = '']) => only(word) };
    case 'annotation':
      return { words: [found], codesOf: ([word = '']) => word };
  }
}

/** Codes in SQL, as Array(UInt32). */
function codeList(codes: readonly number[]): string {
  return `CAST([${codes.map(sqlInteger).join(', ')}], 'Array(UInt32)')`;
}

/** A word without any wanted bit is not read. */
const wordOf = (column: string, mask: number): string =>
  mask === 0 ? 'toUInt16(0)' : `bitAnd(${column}, toUInt16(${mask}))`;

/** The bits of these codes, by word. */
function wordMasks(codes: readonly number[]): Map<number, number> {
  const masks = new Map<number, number>();
  for (const { word, bit } of codes.map(bitOfCode)) masks.set(word, (masks.get(word) ?? 0) | (1 << bit));
  return masks;
}

function firstRanked(items: readonly { slot: number; code: number }[], columnOf: ColumnOf): string {
  return `toUInt16(multiIf(${items.flatMap(({ slot, code }) => [`${columnOf(slot)} = 1`, sqlInteger(code)]).join(', ')}, 0))`;
}

/**
 * Counts the hidden categories of a dimension over the whole survey: rows of (0, code, '', [responses]). Only hidden
 * categories are grouped by, because all combinations of a question with several answers may be as many as the
 * responses. Not for annotations.
 */
export function hiddenCategoryScan({ categories, source }: Dimension, columnOf: ColumnOf): Scan {
  const { words, codesOf } = dimensionWords(
    { categories: categories.filter(isHiddenCategory), source },
    columnOf,
    '[]',
  );
  const names = words.map((_, index) => `w${index}`);
  return {
    isAdditive: true,
    isOfWholeSurvey: true,
    statement: (from) =>
      `SELECT 0 AS place, arrayJoin(${codesOf(names)}) AS code, '' AS label, [sum(amount)] AS figures FROM
        (SELECT ${words.map((word, index) => `${word} AS w${index}`).join(', ')}, count() AS amount FROM ${from} GROUP BY ${names.join(', ')}) GROUP BY code`,
  };
}

export function collectAnsweredCategories(rows: readonly ScanRow[]): Set<number> {
  return new Set([...sumByCode(rows)].flatMap(([code, count]) => (count > 0 ? [code] : [])));
}

/** Whether `hiddenCategoryScan` applies; categories of annotations are shown if the selection has them. */
export const hasHiddenCategories = ({ categories, source }: Dimension): boolean =>
  source.kind !== 'annotation' && categories.some(isHiddenCategory);

const isHiddenCategory = ({ isHidden }: Category): boolean => isHidden === true;
