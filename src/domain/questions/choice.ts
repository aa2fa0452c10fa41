import { z } from 'zod';
import { oncePerObject } from '../once-per-object.ts';
import type { Option, Question } from '../survey.ts';
import {
  bitOfCode,
  bitsPerWord,
  type Category,
  type CountResult,
  type ExportColumn,
  otherCode,
  otherText,
  otherValue,
  type PlacedAnswer,
  type ReadContext,
} from './contract.ts';
import { slotsAt } from './slots.ts';

/** Functions shared by question types whose answers are options. */

/** Setting: items are shown in an order that follows from the response's id, besides anchored ones. Absent: false. */
export const shuffleSetting = z.boolean().optional();

/** The visible option that an answer names; reports unknown and hidden ones. */
export function findOption(
  question: Question,
  { index, answer }: PlacedAnswer,
  context: ReadContext,
): Option | undefined {
  if (answer.optionId === undefined) return undefined;
  const option = question.options.find((candidate) => candidate.id === answer.optionId && !candidate.isHidden);
  if (!option) context.report(index, 'optionId', 'is not an option of this question');
  return option;
}

export const optionByCode = (question: Question, code: number): Option | undefined =>
  question.options.find((option) => option.code === code);

/** All options as categories; hidden ones are marked, so that they are shown only if they have answers. */
export function optionCategories(options: readonly Option[]): Category[] {
  return options.map(({ code, value, text, isHidden }) => ({ code, value, text, isHidden }));
}

export const otherCategory: Category = { code: otherCode, value: otherValue, text: otherText };

/** One export column for each option: whether it was chosen. */
export function flagColumns(options: readonly Option[], slots: readonly number[]): ExportColumn[] {
  return options.map(({ code, value, text }) => ({
    key: value,
    label: text,
    number: String(code),
    cell: { kind: 'flag', slots, code },
  }));
}

export function codesOf(result: CountResult | undefined): ReadonlyMap<number, number> {
  return result?.kind === 'codes' ? result.counts : new Map();
}

export function bitsOf(result: CountResult | undefined): readonly number[] {
  return result?.kind === 'bits' ? result.counts : [];
}

/** Counts by option value, zeros included: visible options, and hidden ones that were ever chosen. */
export function distributionOf(
  options: readonly Option[],
  countOf: (code: number) => number,
  isChosen: (code: number) => boolean,
): Record<string, number> {
  const shown = options.filter(({ code, isHidden }) => !isHidden || isChosen(code));
  return Object.fromEntries(shown.map(({ code, value }) => [value, countOf(code)]));
}

/**
 * Tests whether any response of the survey chose an option code. Ignores filters, so that the shown options are the
 * same under each.
 */
export function chosenIn(result: CountResult | undefined): (code: number) => boolean {
  if (result?.kind === 'codes') return (code) => ((result.unfiltered ?? result.counts).get(code) ?? 0) > 0;
  if (result?.kind === 'bits') return (code) => ((result.unfiltered ?? result.counts)[code - 1] ?? 0) > 0;
  return () => false;
}

/** Whether there are hidden options, which are shown only if a response of the survey chose them. */
export const hasHidden = (options: readonly Option[]): boolean => options.some(({ isHidden }) => isHidden);

/** Field of a `CountRequest` that also requests the counts without filters. */
export const requestUnfiltered = (isNeeded: boolean): { needsUnfiltered?: true } =>
  isNeeded ? { needsUnfiltered: true } : {};

/** Positions of a question's bit words. */
export const bitWordSlots = oncePerObject((question: Question): readonly number[] =>
  slotsAt(question, bitWordKeys(question)),
);

/** Keys of the bit words for all option codes up to the largest one: `w0`, `w1` … */
export function bitWordKeys(question: Question, prefix = ''): string[] {
  const largest = Math.max(1, ...question.options.map((option) => option.code));
  return Array.from({ length: Math.ceil(largest / bitsPerWord) }, (_, word) => `${prefix}w${word}`);
}

/** Sets the bit of an option code (from 1); false if it was set before. */
export function setBit(codes: number[], slots: readonly number[], code: number): boolean {
  const { word, bit } = bitOfCode(code);
  const slot = slots[word];
  if (slot === undefined) throw new Error('no word for the option');
  const before = codes[slot] ?? 0;
  codes[slot] = before | (1 << bit);
  return (before & (1 << bit)) === 0;
}

export function hasBit(codes: readonly number[], slots: readonly number[], code: number): boolean {
  const { word, bit } = bitOfCode(code);
  const slot = slots[word];
  return slot !== undefined && ((codes[slot] ?? 0) & (1 << bit)) !== 0;
}
