import type { QuestionType } from './contract.ts';
import { createFreeText } from './text.ts';

/** A free text of several lines. */
export const longText: QuestionType = createFreeText({ maxLength: 10_000, isMultiLine: true });
