import { deleteInAMoment } from '../../app/deletions.ts';
import { problemText } from '../../data/problems.ts';
import { deleteQuestion, deleteQuestionWhileLeaving, type Question, refreshSurvey } from '../../data/questions.ts';
import { readable } from '../../data/wording.ts';
import { brokenPlacesOf } from './editing.ts';
import { editingOf } from './editings.ts';

interface DeletionOptions {
  /** What names the question goes with it: the author has agreed, or deletes that too. */
  removeConditions: boolean;
}

/** Deletes a question in a moment; until then it is not shown, and its deletion can be taken back. */
export function deleteQuestionInAMoment(surveyId: string, { id, text }: Question, options: DeletionOptions): void {
  deleteInAMoment({
    id,
    name: readable(text),
    surveyId,
    async send() {
      editingOf(surveyId).discard(id);
      try {
        await deleteQuestion(surveyId, id, options);
      } finally {
        await refreshSurvey(surveyId).catch(() => undefined);
      }
    },
    sendWhileLeaving: () => deleteQuestionWhileLeaving(surveyId, id, options),
    refusalText,
  });
}

/** Somebody may have named the question after its author was asked. */
const refusalText = (error: unknown): string =>
  brokenPlacesOf(error) ? 'Something else in the survey names it by now.' : problemText(error).text;
