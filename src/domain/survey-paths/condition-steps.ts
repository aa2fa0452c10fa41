import type { SurveyWithQuestions } from '../survey.ts';
import { conditionOf, elementsOf, type Leaf, leavesOf } from './path-elements.ts';

/** Longest text without a setting of its own: of an EMAIL, of metadata, and a hundred languages. */
const usualLength = 1000;
/** A step takes about 20 ns, a search up to 5 ns a character, and a submission is walked twice. */
const charactersPerStep = 2;

/** How long the conditions of a survey on texts may take, in steps (see `checkSteps`). Others take microseconds. */
export function conditionSteps(survey: SurveyWithQuestions): number {
  const lengths = new Map(
    survey.questions.map(({ id, settings }) => [id, Number(settings['maxLength'] ?? usualLength)]),
  );
  const leaves = elementsOf(survey, { quotas: survey.quotas }).flatMap((element) => {
    const condition = conditionOf(element);
    return condition ? leavesOf(condition) : [];
  });
  const lengthOf = (leaf: Leaf): number => {
    if (!('questionId' in leaf)) return usualLength;
    return leaf.operator.endsWith('Text') ? (lengths.get(leaf.questionId) ?? 0) : 0;
  };
  return leaves.reduce((sum, leaf) => sum + lengthOf(leaf), 0) / charactersPerStep;
}
