import { defineQuestion } from '../../domain/questions/question-definition.ts';
import { allocateSlots } from '../../domain/questions/slot-allocation.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { validationProblem } from '../../errors.ts';
import type { DraftSurvey } from './generate-survey.ts';

/** The draft as a survey that can be stored. */
export function surveyFromDraft(
  { title, description, questions }: DraftSurvey,
  blank: SurveyWithQuestions,
  newId: () => string,
): SurveyWithQuestions {
  const start: SurveyWithQuestions = { ...blank, title, description };
  return questions.reduce((survey, input, order) => {
    const defined = defineQuestion(input, { id: newId(), surveyId: survey.id, order, newId });
    if ('issues' in defined) throw validationProblem(defined.issues);
    const { slots, counts } = allocateSlots(defined.question, survey.slotCounts);
    return { ...survey, slotCounts: counts, questions: [...survey.questions, { ...defined.question, slots }] };
  }, start);
}
