import { bitsPerWord } from '../../../domain/questions/contract.ts';
import type { ColumnOf } from '../read/selection.ts';
import type { Scan, ScanRow } from './scans.ts';

/** A code position to count: its codes themselves, or the bits set in it. */
export interface CountedSlot {
  slot: number;
  isBits: boolean;
}

/** Of one position: code, or bit number from 1, → how many responses have it. `any`: how many have something there. */
export interface SlotCounts {
  isBits: boolean;
  any: number;
  counts: Map<number, number>;
}

/** What `grouping` gives must stay a whole number that JavaScript can hold. */
const maxSlotsPerScan = 50;

/** Code 0 of a word of bits, which has no bit 0, carries how often any bit is set. */
const anyBitCode = 0;

/**
 * Scans that count all codes at many positions, each in one pass: one grouping set a position. Rows: place in `slots`, code, [count].
 * Of the grouped columns only one is not at its default 0 in a row, so the greatest is its value.
 */
export function codeScans(
  wanted: readonly CountedSlot[],
  columnOf: ColumnOf,
): { slots: readonly CountedSlot[]; scan: Scan }[] {
  return Array.from({ length: Math.ceil(wanted.length / maxSlotsPerScan) }, (_, index) => {
    const slots = wanted.slice(index * maxSlotsPerScan, (index + 1) * maxSlotsPerScan);
    return { slots, scan: { isAdditive: true, statement: (source) => codeStatement(source, slots, columnOf) } };
  });
}

function codeStatement(source: string, slots: readonly CountedSlot[], columnOf: ColumnOf): string {
  const columns = slots.map(({ slot }) => columnOf(slot));
  const value = columns.length === 1 ? columns[0] : `greatest(${columns.join(', ')})`;
  const codes = codesOfValue(slots.flatMap(({ isBits }, index) => (isBits ? [index] : [])));
  return `SELECT ${placeOfMask(columns)} AS place, arrayJoin(${codes}) AS code, '' AS label, [sum(amount)] AS figures FROM
    (SELECT grouping(${columns.join(', ')}) AS mask, ${value} AS value, count() AS amount FROM ${source} GROUP BY GROUPING SETS (${columns.map((column) => `(${column})`).join(', ')}))
    WHERE value != 0 GROUP BY place, code`;
}

/** The codes in a `value` at a `place`, as an Array(UInt64): the value itself, or at these places the bits set in it. */
export function codesOfValue(bitPlaces: readonly number[]): string {
  const bits = `arrayPushFront(arrayMap(bit -> toUInt64(bit + 1), bitPositionsToArray(value)), toUInt64(${anyBitCode}))`;
  return bitPlaces.length === 0
    ? '[toUInt64(value)]'
    : `if(place IN (${bitPlaces.join(', ')}), ${bits}, [toUInt64(value)])`;
}

/** Which of the grouped columns a row is grouped by, from `mask`: the bits of `grouping` name those that it is not, the first column highest. */
export function placeOfMask(columns: readonly string[]): string {
  const masks = columns.map((_, index) => 2 ** columns.length - 1 - 2 ** (columns.length - 1 - index));
  return `transform(mask, [${masks.join(', ')}], [${masks.map((_, index) => index).join(', ')}], toUInt64(0))`;
}

/** Takes the rows of a scan into the counts of its positions; a place without one is not looked at. */
export function collectCodes(
  slots: readonly (CountedSlot | undefined)[],
  rows: readonly ScanRow[],
): Map<number, SlotCounts> {
  const found = new Map<number, SlotCounts>(
    slots.flatMap((entry) =>
      entry ? [[entry.slot, { isBits: entry.isBits, any: 0, counts: new Map<number, number>() }]] : [],
    ),
  );
  for (const [place, code, , [amount]] of rows) {
    const entry = found.get(slots[place]?.slot ?? -1);
    if (!entry) throw new Error(`a scan counted position ${place} that was not asked for`);
    if (!entry.isBits || code === anyBitCode) entry.any += amount ?? 0;
    if (!entry.isBits || code !== anyBitCode) addTo(entry.counts, code, amount ?? 0);
  }
  return found;
}

function addTo(counts: Map<number, number>, code: number, amount: number): void {
  const sum = (counts.get(code) ?? 0) + amount;
  if (sum === 0) counts.delete(code);
  else counts.set(code, sum);
}

/** Counts of options over several words: index = option code − 1. */
export function joinWords(words: readonly (SlotCounts | undefined)[]): number[] {
  return words.flatMap((word) => Array.from({ length: bitsPerWord }, (_, bit) => (word ? bitCount(word, bit) : 0)));
}

function bitCount({ isBits, counts }: SlotCounts, bit: number): number {
  if (isBits) return counts.get(bit + 1) ?? 0;
  return [...counts].reduce((sum, [word, amount]) => ((word >> bit) & 1 ? sum + amount : sum), 0);
}
