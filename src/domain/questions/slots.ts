import type { Question, Slots } from '../survey.ts';

/** The position of a question's code column. Throws if it is not assigned, which a stored question always is. */
export const slotAt = (question: Question, key = ''): number =>
  question.slots.codes[key] ?? missing(question, 'codes', key);
export const numberSlotAt = (question: Question, key = ''): number =>
  question.slots.numbers[key] ?? missing(question, 'numbers', key);
export const textSlotAt = (question: Question, key = ''): number =>
  question.slots.texts[key] ?? missing(question, 'texts', key);

/** Positions of a question's code columns; columns that are not assigned yet are omitted. */
export function slotsAt(question: Question, keys: readonly string[]): number[] {
  return keys.flatMap((key) => question.slots.codes[key] ?? []);
}

function missing({ id }: Question, kind: keyof Slots, key: string): never {
  throw new Error(`question ${id} has no column "${key}" among its ${kind}`);
}
