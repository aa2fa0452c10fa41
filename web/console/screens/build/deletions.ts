import { readable } from '../../../../src/domain/path/placeholders.ts';
import { deleteInAMoment } from '../../app/deletions.ts';
import { problemText } from '../../data/problems.ts';
import { deleteQuestion, deleteQuestionWhileLeaving, type Question } from '../../data/questions.ts';
import { refreshSurvey } from '../../data/survey-reads.ts';
import { brokenPlacesOf } from './editing.ts';
import { editingOf } from './editings.ts';

interface DeletionOptions {
  /** Whether what names the question goes with it, as is known when it is deleted. */
  removesConditions(): boolean;
}

/** Deletes a question in a moment; until then it is not shown, and its deletion can be taken back. */
export function deleteQuestionInAMoment(
  surveyId: string,
  { id, text }: Question,
  { removesConditions }: DeletionOptions,
): void {
  deleteInAMoment({
    id,
    name: readable(text),
    surveyId,
    async send() {
      editingOf(surveyId).discard(id);
      try {
        await deleteQuestion(surveyId, id, { removeConditions: removesConditions() });
      } finally {
        await refreshSurvey(surveyId).catch(() => undefined);
      }
    },
    sendWhileLeaving: () => deleteQuestionWhileLeaving(surveyId, id, { removeConditions: removesConditions() }),
    refusalText,
  });
}

/** Somebody may have named the question after its author was asked, or a question that names it may have been kept. */
const refusalText = (error: unknown): string =>
  brokenPlacesOf(error) ? 'Something else in the survey names it by now.' : problemText(error).text;
