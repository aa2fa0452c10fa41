import type { OpenAnswer } from './open-answers.ts';

/** Texts of one call together, in characters; a longer answer is cut. */
const maxBatchText = 60_000;
export const maxAnswerLength = 8000;

/**
 * Gathers answers into batches of `batchSize`, or of as many as one call can hold. `add` gives a batch whenever one is full,
 * `rest` what is left.
 */
export function createBatcher<Answer extends Pick<OpenAnswer, 'text'>>(batchSize: number) {
  let batch: Answer[] = [];
  let characters = 0;
  const take = (): Answer[] => {
    const taken = batch;
    [batch, characters] = [[], 0];
    return taken;
  };
  return {
    add(answer: Answer): Answer[] | undefined {
      const length = Math.min(answer.text.length, maxAnswerLength);
      const full =
        batch.length > 0 && (batch.length >= batchSize || characters + length > maxBatchText) ? take() : undefined;
      batch.push(answer);
      characters += length;
      return full;
    },
    rest: take,
  };
}
