import { registry } from './questions/registry.ts';
import type { Question, SlotCounts, Slots } from './survey.ts';

/**
 * Gives every column that a question needs, and has not got yet, the survey's next free position. Positions are never taken back: a
 * stored response keeps its meaning whatever happens to its question.
 */
export function allocateSlots(question: Question, counts: SlotCounts): { slots: Slots; counts: SlotCounts } {
  const needed = registry[question.type].columns(question);
  const codes = extend(question.slots.codes, needed.codes, counts.codes);
  const numbers = extend(question.slots.numbers, needed.numbers, counts.numbers);
  const texts = extend(question.slots.texts, needed.texts, counts.texts);
  return {
    slots: { codes: codes.slots, numbers: numbers.slots, texts: texts.slots },
    counts: { codes: codes.next, numbers: numbers.next, texts: texts.next },
  };
}

function extend(known: Readonly<Record<string, number>>, keys: readonly string[], from: number): { slots: Record<string, number>; next: number } {
  const slots = { ...known };
  let next = from;
  for (const key of keys) slots[key] ??= next++;
  return { slots, next };
}
