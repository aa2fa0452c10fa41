import type { QuestionType } from './contract.ts';
import { singleChoice } from './single-choice.ts';

/** One of the options, shown as a menu: stored and counted as MULTIPLE_CHOICE. */
export const dropdown: QuestionType = singleChoice;
