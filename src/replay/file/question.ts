import type { QuestionTypeName } from '../../domain/questions/type-names.ts';
import type { DayOrder } from './dates.ts';

/** Every type but FILE_UPLOAD: a CSV has no files. */
export type ReplayedType = Exclude<QuestionTypeName, 'FILE_UPLOAD'>;

/** A column of the file in a question: an option to tick, an item to rank, a row of a matrix; or the one column of all other types. */
export interface Item {
  index: number;
  /** Unique within the question. */
  text: string;
}

/** A question as it was recognised in the file. */
export interface DetectedQuestion {
  type: ReplayedType;
  text: string;
  items: readonly Item[];
  /** The texts of single choices and of a matrix's columns; empty for other types. */
  options: readonly string[];
  /** How the file writes days; only DATE asks. */
  dayOrder: DayOrder;
  /** Ends of the scale; only RATING_SCALE and SLIDER have them. */
  scale?: { min: number; max: number };
}
