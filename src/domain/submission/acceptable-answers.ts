import { givenAnswers, type PathContext, type Walk, walkOf } from '../path/path.ts';
import type { AnswerRow, PlacedAnswer } from '../questions/contract.ts';
import { compiledPathsOf } from '../survey-paths/path-definition.ts';
import { type CompiledSurvey, initialRow, isWellShaped, stepsAtOnce, stepsOf } from './answers.ts';
import type { CompiledQuestion } from './compiled-question.ts';
import { fieldNotOffered, tooFewOffered } from './offered-items.ts';

export interface Acceptance {
  /** What the path depends on beside the answers. */
  context: Omit<PathContext, 'surveyLanguage'>;
  /** As `checkAnswersInSlices` has it. */
  pause: () => Promise<void>;
}

type AnswersByQuestion = Map<CompiledQuestion, PlacedAnswer[]>;

/**
 * The answers without those to questions whose answers a submission would be refused for. Whether an upload exists is
 * not asked.
 */
export async function acceptableAnswers(
  compiled: CompiledSurvey,
  given: readonly object[],
  { context, pause }: Acceptance,
): Promise<object[]> {
  const byQuestion: AnswersByQuestion = new Map();
  for (const [index, answer] of given.entries()) {
    if (!isWellShaped(answer, index, [])) continue;
    const item = compiled.byId.get(answer.questionId);
    if (!item) continue;
    const others = byQuestion.get(item);
    if (others) others.push({ index, answer });
    else byQuestion.set(item, [{ index, answer }]);
  }
  const row = initialRow(compiled, undefined);
  let steps = 0;
  for (const [item, answers] of byQuestion) {
    steps += stepsOf(item.question);
    if (steps > stepsAtOnce) {
      await pause();
      steps = stepsOf(item.question);
    }
    if (!item.type.namesUploads && !areAccepted(item, answers, row)) byQuestion.delete(item);
  }
  await dropTooFew(compiled, byQuestion, { context, pause });
  return answersOf(byQuestion);
}

const answersOf = (byQuestion: AnswersByQuestion): object[] =>
  [...byQuestion.values()].flatMap((answers) => answers.map(({ answer }) => answer));

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

/**
 * Drops answers that choose less than their questions ask for of what the path offers. The path up to a question
 * depends on earlier answers alone, so each is looked at once, in the designed order.
 */
async function dropTooFew(
  compiled: CompiledSurvey,
  byQuestion: AnswersByQuestion,
  { context, pause }: Acceptance,
): Promise<void> {
  const { survey } = compiled;
  const paths = compiledPathsOf(survey);
  const dynamic = [...byQuestion.keys()]
    .filter(({ type, place }) => type.tooFew && paths.questions[place]?.optionRule)
    .sort((one, other) => one.place - other.place);
  const row = initialRow(compiled, undefined);
  let walk: Walk | undefined;
  for (const item of dynamic) {
    walk ??= walkOf(paths, givenAnswers(paths, answersOf(byQuestion)), { ...context, surveyLanguage: survey.language });
    const offered = { options: walk.offeredOptions[item.place], rows: walk.offeredRows[item.place] };
    const chosen = (byQuestion.get(item) ?? []).filter(
      ({ answer }) => fieldNotOffered(item.question, offered, answer) === undefined,
    );
    if (chosen.length > 0) areAccepted(item, chosen, row);
    if (tooFewOffered(item, row, offered) === undefined) continue;
    byQuestion.delete(item);
    walk = undefined;
    await pause();
  }
}
