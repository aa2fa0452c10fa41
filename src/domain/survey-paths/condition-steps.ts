import type { AnswerLeaf, KeyLeaf } from '../path/definition.ts';
import type { SurveyWithQuestions } from '../survey.ts';
import { conditionOf, elementsOf, leavesOf } from './path-elements.ts';

/** Longest text without a setting of its own: of an EMAIL, and of metadata. */
const usualLength = 1000;
/**
 * A step takes about 20 ns. A submission is walked twice: a walk folds each text that is compared once, up to 100 ns a
 * character, and searches it for each condition, up to 5 ns a character. To compare two language tags takes 300 ns.
 */
const [foldingSteps, searchSteps, languageSteps] = [10, 0.5, 30];
const isPlain = /^[ -~]*$/;

/** How long the conditions of a survey on texts may take, in steps (see `checkSteps`). Others take microseconds. */
export function conditionSteps(survey: SurveyWithQuestions): number {
  const lengths = new Map(
    survey.questions.map(({ id, settings }) => [id, Number(settings['maxLength'] ?? usualLength)]),
  );
  const leaves = elementsOf(survey, { quotas: survey.quotas }).flatMap((element) => {
    const condition = conditionOf(element);
    return condition ? leavesOf(condition) : [];
  });
  const folded = new Map<string, number>();
  let steps = 0;
  for (const leaf of leaves) {
    if ('language' in leaf) steps += leaf.language.length * languageSteps;
    else if (leaf.operator.endsWith('Text')) {
      const subject = subjectOf(leaf);
      const length = lengths.get(subject) ?? usualLength;
      folded.set(subject, length);
      if (leaf.operator === 'containsText') steps += length * searchSteps;
      // The first walk folds it; what is plain takes almost no time.
      const value = 'value' in leaf ? String(leaf.value) : '';
      if (!isPlain.test(value)) steps += value.length * foldingSteps;
    }
  }
  return [...folded.values()].reduce((sum, length) => sum + length * foldingSteps, steps);
}

function subjectOf(leaf: AnswerLeaf | KeyLeaf): string {
  if ('questionId' in leaf) return leaf.questionId;
  return 'metadata' in leaf ? leaf.metadata : leaf.invitation;
}
