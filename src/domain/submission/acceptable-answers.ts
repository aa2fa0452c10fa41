import type { AnswerRow, PlacedAnswer } from '../questions/contract.ts';
import { type CompiledSurvey, initialRow, isWellShaped, stepsAtOnce, stepsOf } from './answers.ts';
import type { CompiledQuestion } from './compiled-question.ts';

/**
 * The answers without those to questions whose answers a submission would be refused for. Whether an upload exists is
 * not asked. `pause`: as `checkAnswersInSlices` has it.
 */
export async function acceptableAnswers(
  compiled: CompiledSurvey,
  given: readonly object[],
  pause: () => Promise<void>,
): Promise<object[]> {
  const byQuestion = new Map<CompiledQuestion, PlacedAnswer[]>();
  for (const [index, answer] of given.entries()) {
    if (!isWellShaped(answer, index, [])) continue;
    const item = compiled.byId.get(answer.questionId);
    if (!item) continue;
    const others = byQuestion.get(item);
    if (others) others.push({ index, answer });
    else byQuestion.set(item, [{ index, answer }]);
  }
  const row = initialRow(compiled, undefined);
  const accepted: object[] = [];
  let steps = 0;
  for (const [item, answers] of byQuestion) {
    steps += stepsOf(item.question);
    if (steps > stepsAtOnce) {
      await pause();
      steps = stepsOf(item.question);
    }
    if (item.type.namesUploads || areAccepted(item, answers, row))
      for (const { answer } of answers) accepted.push(answer);
  }
  return accepted;
}

/** Whether a submission would take these answers to a question. `row` is written to. */
function areAccepted(item: CompiledQuestion, answers: readonly PlacedAnswer[], row: AnswerRow): boolean {
  let isFine = true;
  item.type.read(item.question, answers, row, {
    uploads: new Map(),
    report: () => {
      isFine = false;
    },
  });
  return isFine;
}
