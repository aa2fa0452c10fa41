import { bitsPerWord } from '../../../domain/questions/contract.ts';
import type { ColumnOf } from '../query/selection.ts';

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
const mostSlotsInScan = 50;

/** Code 0 of a word of bits, which has no bit 0, carries how often any bit is set. */
const anyBit = 0;

/** A part of a scan: rows of (position in `slots`, code, [count]). */
export interface CodeScan {
  slots: readonly CountedSlot[];
  sql: string;
}

/**
 * Statements that count all codes at many positions, each with one scan: one grouping set a position. Of the grouped columns only one
 * is not at its default 0 in a row, so the greatest is its value.
 */
export function codeScans(source: string, wanted: readonly CountedSlot[], columnOf: ColumnOf): CodeScan[] {
  const scans: CodeScan[] = [];
  for (let from = 0; from < wanted.length; from += mostSlotsInScan) {
    const slots = wanted.slice(from, from + mostSlotsInScan);
    scans.push({ slots, sql: codeScan(source, slots, columnOf) });
  }
  return scans;
}

function codeScan(source: string, slots: readonly CountedSlot[], columnOf: ColumnOf): string {
  const columns = slots.map(({ slot }) => columnOf(slot));
  const value = columns.length === 1 ? columns[0] : `greatest(${columns.join(', ')})`;
  const masks = slots.map((_, index) => groupingMask(index, slots.length));
  const position = `transform(mask, [${masks.join(', ')}], [${masks.map((_, index) => index).join(', ')}], toUInt64(0))`;
  const bitPositions = slots.flatMap(({ isBits }, index) => (isBits ? [index] : []));
  const bits = `arrayPushFront(arrayMap(bit -> toUInt64(bit + 1), bitPositionsToArray(value)), toUInt64(${anyBit}))`;
  const codes = bitPositions.length === 0 ? '[toUInt64(value)]' : `if(position IN (${bitPositions.join(', ')}), ${bits}, [toUInt64(value)])`;
  return `SELECT ${position} AS position, arrayJoin(${codes}) AS code, [toInt64(sum(amount))] FROM
    (SELECT grouping(${columns.join(', ')}) AS mask, ${value} AS value, count() AS amount FROM ${source} GROUP BY GROUPING SETS (${columns.map((column) => `(${column})`).join(', ')}))
    WHERE value != 0 GROUP BY position, code`;
}

/** The bits of `grouping` name the columns that a row is not grouped by, the first column highest. */
function groupingMask(index: number, length: number): number {
  return 2 ** length - 1 - 2 ** (length - 1 - index);
}

/** Takes the rows of a scan into the counts of its positions. */
export function collectCodes(slots: readonly CountedSlot[], rows: Iterable<readonly [position: number, code: number, amount: number]>): Map<number, SlotCounts> {
  const found = new Map<number, SlotCounts>(slots.map(({ slot, isBits }) => [slot, { isBits, any: 0, counts: new Map<number, number>() }]));
  for (const [position, code, amount] of rows) {
    const entry = found.get(slots[position]?.slot ?? -1);
    if (!entry) throw new Error(`a scan counted position ${position} that was not asked for`);
    if (!entry.isBits) entry.any += amount;
    else if (code === anyBit) entry.any = amount;
    if (!entry.isBits || code !== anyBit) entry.counts.set(code, amount);
  }
  return found;
}

/** Counts of options over several words: index = option code − 1. */
export function joinWords(words: readonly (SlotCounts | undefined)[]): number[] {
  return words.flatMap((word) => Array.from({ length: bitsPerWord }, (_, bit) => (word ? bitCount(word, bit) : 0)));
}

function bitCount({ isBits, counts }: SlotCounts, bit: number): number {
  if (isBits) return counts.get(bit + 1) ?? 0;
  return [...counts].reduce((sum, [word, amount]) => ((word >> bit) & 1 ? sum + amount : sum), 0);
}
