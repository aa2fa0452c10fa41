import type { QuestionType } from './contract.ts';
import { singleChoice } from './single-choice.ts';

/** One of the options, or “other” with a text where allowed. */
export const multipleChoice: QuestionType = singleChoice;
