import { bitsPerWord, type Dimension } from '../../../domain/questions/contract.ts';
import type { ColumnOf } from '../read/selection.ts';
import { sqlInteger } from '../sql-literals.ts';

/**
 * A dimension, of at least one code position or finding, as raw words to group by, and the codes that a group of words stands for. Grouping the words as they are stored and
 * taking them apart afterwards keeps questions with many answers as cheap as those with one.
 */
export interface DimensionWords {
  /** Expressions over a response. */
  words: string[];
  /** The codes among the dimension's categories, as an Array(UInt32), from the words by these names. */
  codesOf(names: readonly string[]): string;
}

/** `found`: the column with the codes of the findings, as `foundCodes` gives them. */
export function dimensionWords({ categories, source }: Dimension, columnOf: ColumnOf, found: string): DimensionWords {
  const known = categories.map(({ code }) => code);
  const bitsOf: DimensionWords['codesOf'] = (names) =>
    `arrayConcat(${names.map((word, index) => `arrayMap(bit -> toUInt32(bit + ${index * bitsPerWord + 1}), bitPositionsToArray(${word}))`).join(', ')})`;
  const only = (expression: string): string => `arrayIntersect([toUInt32(${expression})], ${codeList(known)})`;
  switch (source.kind) {
    case 'code':
      return { words: [columnOf(source.slot)], codesOf: ([word = '']) => only(word) };
    case 'bits':
      return {
        words: source.slots.map((slot, index) => wordOf(columnOf(slot), wordMask(known, index))),
        codesOf: bitsOf,
      };
    case 'first':
      return { words: [firstRanked(source.items, columnOf)], codesOf: ([word = '']) => only(word) };
    case 'annotation':
      return { words: [found], codesOf: ([word = '']) => word };
  }
}

function codeList(codes: readonly number[]): string {
  return `CAST([${codes.map(sqlInteger).join(', ')}], 'Array(UInt32)')`;
}

/** A word of which nothing is asked is not read. */
const wordOf = (column: string, mask: number): string =>
  mask === 0 ? 'toUInt16(0)' : `bitAnd(${column}, toUInt16(${mask}))`;

function wordMask(codes: readonly number[], word: number): number {
  return codes
    .map((code) => code - 1 - word * bitsPerWord)
    .reduce((mask, bit) => (bit >= 0 && bit < bitsPerWord ? mask | (1 << bit) : mask), 0);
}

function firstRanked(items: readonly { slot: number; code: number }[], columnOf: ColumnOf): string {
  return `toUInt16(multiIf(${items.flatMap(({ slot, code }) => [`${columnOf(slot)} = 1`, sqlInteger(code)]).join(', ')}, 0))`;
}
