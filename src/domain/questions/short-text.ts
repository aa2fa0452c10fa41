import type { QuestionType } from './contract.ts';
import { createFreeText } from './text.ts';

/** A free text of one line. */
export const shortText: QuestionType = createFreeText({ maxLength: 255, isMultiLine: false });
