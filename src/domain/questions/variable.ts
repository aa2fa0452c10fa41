import type { Question } from '../survey.ts';
import type { Dimension } from './contract.ts';
import { registry } from './registry.ts';

/** What keeps a question from being a variable, and whether that is the part that was named. */
export interface NotAVariable {
  message: string;
  isOfPart: boolean;
}

/** A question, or a part of it named by id or value (a row of a MATRIX, an item of a RANKING), as a variable. */
export function questionVariable(question: Question, part?: string): Dimension | NotAVariable {
  const { hasParts = false, dimension } = registry[question.type];
  const whole = dimension(question);
  if (part === undefined || (!hasParts && typeof whole === 'string'))
    return typeof whole === 'string' ? { message: whole, isOfPart: false } : whole;
  if (!hasParts) return { message: 'must be left out: the question has neither rows nor items', isOfPart: true };
  const found = dimension(question, part);
  return typeof found === 'string' ? { message: found, isOfPart: true } : found;
}
