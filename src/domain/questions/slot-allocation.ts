import { validationProblem } from '../../errors.ts';
import type { Question, SlotCounts, Slots } from '../survey.ts';
import { registry } from './registry.ts';

/**
 * Maximum code positions of one survey. All surveys share one table, and each column, even an empty one, slows down
 * every insert: with 1,000 columns an insert of a few rows takes about twice as long as with 100, with 4,000 ten times.
 */
export const maxCodePositions = 1000;

export const noSlots: Slots = { codes: {}, numbers: {}, texts: {} };

/**
 * Assigns the survey's next free positions to the columns that a question needs and does not have yet. Positions are
 * never reused, so stored responses keep their meaning. Throws VALIDATION_ERROR, with the given path, if the survey
 * would exceed `maxCodePositions`.
 */
export function allocateSlots(question: Question, counts: SlotCounts, path = ''): { slots: Slots; counts: SlotCounts } {
  const needed = registry[question.type].slotKeys(question);
  const codes = extend(question.slots.codes, needed.codes, counts.codes);
  if (codes.next > counts.codes && codes.next > maxCodePositions)
    throw validationProblem([{ path, message: tooWide(codes.next - counts.codes, maxCodePositions - counts.codes) }]);
  const numbers = extend(question.slots.numbers, needed.numbers, counts.numbers);
  const texts = extend(question.slots.texts, needed.texts, counts.texts);
  return {
    slots: { codes: codes.slots, numbers: numbers.slots, texts: texts.slots },
    counts: { codes: codes.next, numbers: numbers.next, texts: texts.next },
  };
}

const tooWide = (needed: number, left: number): string =>
  `takes ${needed} places in the survey’s answers, which has ${Math.max(0, left)} of ${maxCodePositions} left: fewer rows or options, a copy of the survey, in which what was removed takes no places, or a survey of its own`;

function extend(
  known: Readonly<Record<string, number>>,
  keys: readonly string[],
  from: number,
): { slots: Record<string, number>; next: number } {
  const slots = { ...known };
  let next = from;
  for (const key of keys) {
    if (slots[key] !== undefined) continue;
    slots[key] = next;
    next += 1;
  }
  return { slots, next };
}
