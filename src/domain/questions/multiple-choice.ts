import type { QuestionType } from './contract.ts';
import { singleChoice } from './single-choice.ts';

/** One option, or “other” with a free text if the author allows it. */
export const multipleChoice: QuestionType = singleChoice;
