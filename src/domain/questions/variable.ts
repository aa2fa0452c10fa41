import type { Question } from '../survey.ts';
import type { Dimension } from './contract.ts';
import { registry } from './registry.ts';

/** Why a question cannot be a variable; `isOfPart`: because of the named part. */
export interface NotAVariable {
  message: string;
  isOfPart: boolean;
}

/** A question as a variable, or the part of it (row of a MATRIX, item of a RANKING) with the given id or value. */
export function questionVariable(question: Question, part?: string): Dimension | NotAVariable {
  const { hasParts = false, dimension } = registry[question.type];
  const whole = dimension(question);
  if (part === undefined || (!hasParts && typeof whole === 'string'))
    return typeof whole === 'string' ? { message: whole, isOfPart: false } : whole;
  if (!hasParts) return { message: 'must be left out: the question has neither rows nor items', isOfPart: true };
  const found = dimension(question, part);
  return typeof found === 'string' ? { message: found, isOfPart: true } : found;
}
