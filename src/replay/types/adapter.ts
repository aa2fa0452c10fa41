import type { GivenAnswer } from '../../domain/questions/contract.ts';
import type { DetectedQuestion } from '../file/question.ts';
import type { Row } from '../file/table.ts';
import type { Statistic } from '../service/replies.ts';

/** A question of the file with what the service made of it: options and rows by their texts in the file. */
export interface ImportedQuestion {
  found: DetectedQuestion;
  id: string;
  options: ReadonlyMap<string, Named>;
  rows: ReadonlyMap<string, Named>;
}

export interface Named {
  id: string;
  value: string;
}

export type BareAnswer = Omit<GivenAnswer, 'questionId'>;

/** Counts by value; one level deeper for MATRIX (row, column) and RANKING (item, rank). */
export type Counts = Record<string, number | Record<string, number>>;

/** The same cells, counted twice. */
export interface CountPair {
  inFile: Counts;
  inService: Counts;
}

/** What differs between the types of questions when a file is replayed. All functions are pure. */
export interface TypeAdapter {
  /** What the file's columns are in the service, where a question has several. */
  itemsAre?: 'options' | 'rows';
  /** Whether the question as a whole can be crossed, its items one by one, or either. Absent where it cannot be. */
  crossedBy?: readonly ('question' | 'item')[];
  /** Whether a row answers the question. */
  isFilled(found: DetectedQuestion, row: Row): boolean;
  /** Why an answer cannot be submitted, to be read after “left out:”; undefined when it can. Called for filled rows. */
  problem(found: DetectedQuestion, row: Row): string | undefined;
  /** The answers of a filled row without a problem. */
  answers(question: ImportedQuestion, row: Row): BareAnswer[];
  /**
   * Counts the file's rows in the cells that analytics has. The statistic is asked for its keys only where the file cannot know them,
   * such as the limits of bins.
   */
  count(question: ImportedQuestion, rows: readonly Row[], statistic: Statistic): CountPair;
  /** The categories that a row falls into when the question is crossed, as option values; `item` is a matrix row or a ranked item. */
  categories?(question: ImportedQuestion, row: Row, item?: string): string[];
}

export function tally(keys: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return Object.fromEntries(counts);
}
