import type { QuestionType } from './contract.ts';
import { singleChoice } from './single-choice.ts';

/** One option, shown as a menu; stored and counted like MULTIPLE_CHOICE. */
export const dropdown: QuestionType = singleChoice;
