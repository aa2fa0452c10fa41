import { toast } from '../../app/toasts.tsx';
import { addKeeper } from '../../app/unsaved.ts';
import { createWaiting } from '../../app/waiting.ts';
import { problemText } from '../../data/problems.ts';
import { deleteQuestion, deleteQuestionWhileLeaving, type Question, refreshSurvey } from '../../data/questions.ts';
import { readable } from '../../data/wording.ts';
import { brokenPlacesOf, editingOf } from './editing.ts';

const undoSeconds = 8;

interface DeletionOptions {
  /** What names the question goes with it: the author has agreed, or deletes that too. */
  removeConditions: boolean;
}

interface Deletion extends DeletionOptions {
  surveyId: string;
  timer: ReturnType<typeof setTimeout>;
  /** Deletes it now. Says so and throws if the service refuses that. */
  run(): Promise<void>;
  /** Neither deletes it nor offers to undo that any more. */
  cancel(): void;
}

const waiting = createWaiting<Deletion>();

// A page that is left does not take a deletion back.
addEventListener('pagehide', () => {
  for (const [id, { surveyId, timer, removeConditions }] of waiting.all()) {
    clearTimeout(timer);
    void deleteQuestionWhileLeaving(surveyId, id, { removeConditions });
  }
});

// Whoever signs out does not take it back either.
addKeeper({
  async save() {
    await Promise.allSettled([...waiting.all().values()].map(({ run }) => run()));
  },
  async carryOut(surveyId) {
    const own = [...waiting.all().values()].filter((deletion) => deletion.surveyId === surveyId);
    await Promise.all(own.map(({ run }) => run()));
  },
  forget(surveyId) {
    for (const deletion of waiting.all().values()) if (deletion.surveyId === surveyId) deletion.cancel();
  },
  isUnsaved: () => waiting.all().size > 0,
});

/** Questions that are deleted in a moment: their deletion can still be taken back. */
export const useWaitingDeletions = () => waiting.use();

/** Whether a question is deleted in a moment. */
export const isWaiting = (id: string): boolean => waiting.all().has(id);

/** Deletes a question in a moment; until then it is not shown, and its deletion can be taken back. */
export function deleteInAMoment(surveyId: string, { id, text }: Question, options: DeletionOptions): void {
  const send = async () => {
    clearTimeout(timer);
    closeUndo();
    editingOf(surveyId).discard(id);
    try {
      await deleteQuestion(surveyId, id, options);
    } catch (error) {
      toast({ text: `“${readable(text)}” was not deleted. ${refusalText(error)}`, isError: true });
      throw error;
    } finally {
      await refreshSurvey(surveyId).catch(() => undefined);
      waiting.remove(id);
    }
  };
  let sent: Promise<void> | undefined;
  const run = () => {
    sent ??= send();
    return sent;
  };
  const timer = setTimeout(() => void run().catch(() => undefined), undoSeconds * 1000);
  const cancel = () => {
    clearTimeout(timer);
    closeUndo();
    waiting.remove(id);
  };
  waiting.add(id, { ...options, surveyId, timer, run, cancel });
  const closeUndo = toast({
    text: `“${readable(text)}” is deleted.`,
    seconds: undoSeconds,
    action: { label: 'Undo', run: cancel },
  });
}

/** Somebody may have named the question after its author was asked. */
const refusalText = (error: unknown): string =>
  brokenPlacesOf(error) ? 'Something else in the survey names it by now.' : problemText(error).text;
