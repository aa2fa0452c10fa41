import { notAskedPlace, wholeQuestion } from '../not-asked.ts';
import { type CompiledPaths, shownOrder, type Walk } from '../path/path.ts';
import type { AnswerRow } from '../questions/contract.ts';
import { type SurveyWithQuestions, visibleRows } from '../survey.ts';
import { type CompiledQuestion, isAnswered } from './compiled-question.ts';

/** Code positions that hold bits of questions that were not asked. */
export function notAskedWords({ questions }: SurveyWithQuestions): number[] {
  const bits = questions.flatMap(({ notAsked = {} }) => Object.values(notAsked));
  return [...new Set(bits.map((bit) => notAskedPlace(bit).position))];
}

export interface MarkOptions {
  /** Undefined: every question and row is on the path. */
  walk: Walk | undefined;
  isComplete: boolean;
  responseId: string | undefined;
}

/**
 * The function sets the bits of what the respondent was not asked: what is not on the path, and, while the response is
 * open, what comes after the last answered question in the order in which the respondent is asked.
 */
export function createNotAskedMarks(
  survey: SurveyWithQuestions,
  visible: readonly CompiledQuestion[],
  paths: CompiledPaths,
) {
  const words = notAskedWords(survey);
  const isShuffled = paths.isShuffled || paths.sections.some((section) => section.isShuffled);
  const designed = visible.map(({ place }) => place);

  /** Places of the questions up to the last answered one. */
  const reached = (row: AnswerRow, responseId: string | undefined): ReadonlySet<number> => {
    const order = isShuffled ? shownOrder(paths, responseId) : designed;
    const last = order.findLastIndex((place) => isAnswered(row, visible[place] as CompiledQuestion));
    return new Set(order.slice(0, last + 1));
  };

  return (row: AnswerRow, { walk, isComplete, responseId }: MarkOptions): void => {
    for (const word of words) row.codes[word] = 0;
    const isReached = isComplete ? undefined : reached(row, responseId);
    for (const { question, place } of visible) {
      const { notAsked } = question;
      if (!notAsked) continue;
      const isAsked = walk?.onPath[place] !== 0 && isReached?.has(place) !== false;
      // Beside a saved answer the bit says only that the rows without one were not asked.
      if (!isAsked) setBit(row, notAsked[wholeQuestion]);
      const offered = walk?.offeredRows[place];
      for (const [index, { id }] of visibleRows(question).entries())
        if (!isAsked || offered?.[index] === 0) setBit(row, notAsked[id]);
    }
  };
}

function setBit(row: AnswerRow, bit: number | undefined): void {
  if (bit === undefined) return;
  const { position, mask } = notAskedPlace(bit);
  row.codes[position] = (row.codes[position] ?? 0) | mask;
}

export type NotAskedMarks = ReturnType<typeof createNotAskedMarks>;
