import { runInSlices, type SlicedWork } from '../../platform/slices.ts';
import type { OfferedMasks } from '../path/answers.ts';
import { givenAnswers, type PathContext, slicedWalk } from '../path/path.ts';
import type { PlacedAnswer } from '../questions/contract.ts';
import { compiledPathsOf } from '../survey-paths/path-definition.ts';
import { type CompiledSurvey, initialRow, isWellShaped, stepsAtOnce, stepsOf } from './answers.ts';
import { type CompiledQuestion, readsWithoutIssues } from './compiled-question.ts';
import { fieldNotOffered, tooFewOffered } from './offered-items.ts';

export interface Acceptance {
  /** The path depends on it beside the answers. */
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
    if (!item.type.namesUploads && !readsWithoutIssues(item, answers, row)) byQuestion.delete(item);
  }
  await pause();
  await runInSlices(dropTooFew(compiled, byQuestion, context));
  return answersOf(byQuestion);
}

const answersOf = (byQuestion: AnswersByQuestion): object[] =>
  [...byQuestion.values()].flatMap((answers) => answers.map(({ answer }) => answer));

/**
 * Drops answers that choose less than their questions ask for of what the path offers. One walk: the path up to a
 * question depends on earlier answers alone, so the walk is told of each answer when it reads it.
 */
function* dropTooFew(
  compiled: CompiledSurvey,
  byQuestion: AnswersByQuestion,
  context: Acceptance['context'],
): SlicedWork<void> {
  const { survey, visible } = compiled;
  const paths = compiledPathsOf(survey);
  const dynamic = [...byQuestion.keys()].filter(({ type, place }) => type.tooFew && paths.questions[place]?.optionRule);
  if (dynamic.length === 0) return;
  const row = initialRow(compiled, undefined);
  const counts = (place: number, offered: OfferedMasks): boolean => {
    const item = visible[place];
    const answers = item && byQuestion.get(item);
    if (!item?.type.tooFew || !answers) return true;
    const chosen = answers.filter(({ answer }) => fieldNotOffered(item.question, offered, answer) === undefined);
    if (chosen.length > 0) readsWithoutIssues(item, chosen, row);
    if (tooFewOffered(item, row, offered) === undefined) return true;
    byQuestion.delete(item);
    return false;
  };
  const given = { ...givenAnswers(paths, answersOf(byQuestion)), counts };
  const walk = yield* slicedWalk(paths, given, { ...context, surveyLanguage: survey.language });
  // The walk itself reads only those that something names.
  for (const { place } of dynamic) walk.answer(place);
}
