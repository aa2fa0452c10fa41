import type { OpenAnswer } from './open-answers.ts';

/** Texts of one call together, in characters; a longer answer is cut. */
const mostText = 60_000;
export const longestAnswer = 8000;

/**
 * Gathers answers into batches of `batchSize`, or of as many as one call can hold. `add` gives a batch whenever one is full,
 * `rest` what is left.
 */
export function createBatches<Answer extends Pick<OpenAnswer, 'text'>>(batchSize: number) {
  let batch: Answer[] = [];
  let characters = 0;
  const take = (): Answer[] => {
    const taken = batch;
    [batch, characters] = [[], 0];
    return taken;
  };
  return {
    add(answer: Answer): Answer[] | undefined {
      const length = Math.min(answer.text.length, longestAnswer);
      const full = batch.length > 0 && (batch.length >= batchSize || characters + length > mostText) ? take() : undefined;
      batch.push(answer);
      characters += length;
      return full;
    },
    rest: take,
  };
}
