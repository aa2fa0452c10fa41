import type { Question, Slots } from '../survey.ts';

/** The position of a question's column of codes. Every question that can be answered has been given its columns: a missing one is a mistake of ours. */
export const slotAt = (question: Question, key = ''): number => positionOf(question, 'codes', key);
export const numberSlotAt = (question: Question, key = ''): number => positionOf(question, 'numbers', key);
export const textSlotAt = (question: Question, key = ''): number => positionOf(question, 'texts', key);

/** Positions of a question's columns by their keys; columns that the question has not been given yet are left out. */
export function slotsAt(question: Question, keys: readonly string[]): number[] {
  return keys.flatMap((key) => question.slots.codes[key] ?? []);
}

function positionOf(question: Question, kind: keyof Slots, key: string): number {
  const slot = question.slots[kind][key];
  if (slot === undefined) throw new Error(`question ${question.id} has no column "${key}" among its ${kind}`);
  return slot;
}
