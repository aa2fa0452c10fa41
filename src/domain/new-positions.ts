import { withNotAskedBits } from './not-asked.ts';
import { allocateSlots, noSlots } from './questions/slot-allocation.ts';
import type { Question, SurveyWithQuestions } from './survey.ts';

/**
 * A survey without answers, with positions from zero for its questions and the bits that it needs. Throws
 * VALIDATION_ERROR, with the path `questions.ID` of the question that does not fit.
 */
export function withNewPositions(survey: SurveyWithQuestions): SurveyWithQuestions {
  let slotCounts = { codes: 0, numbers: 0, texts: 0 };
  const questions = survey.questions.map((question): Question => {
    const { slots, counts } = allocateSlots({ ...question, slots: noSlots }, slotCounts, `questions.${question.id}`);
    slotCounts = counts;
    return { ...question, slots };
  });
  return withNotAskedBits({ ...survey, slotCounts, questions });
}
