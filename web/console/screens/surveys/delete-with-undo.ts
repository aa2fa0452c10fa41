import { useCallback } from 'react';
import { toast } from '../../app/toasts.tsx';
import { addKeeper } from '../../app/unsaved.ts';
import { createWaiting } from '../../app/waiting.ts';
import { problemText } from '../../data/problems.ts';
import { deleteSurvey, deleteSurveyWhileLeaving } from '../../data/surveys.ts';

/** How long a deletion can be taken back. */
const undoSeconds = 8;

interface Deletion {
  timer: ReturnType<typeof setTimeout>;
  /** Deletes it now. */
  run(): Promise<void>;
}

const waiting = createWaiting<Deletion>();

// A page that is left does not take a deletion back.
addEventListener('pagehide', () => {
  for (const [id, { timer }] of waiting.all()) {
    clearTimeout(timer);
    void deleteSurveyWhileLeaving(id);
  }
});

// Whoever signs out does not take it back either.
addKeeper({
  async save() {
    await Promise.all([...waiting.all().values()].map(({ run }) => run()));
  },
  isUnsaved: () => waiting.all().size > 0,
});

/**
 * Deletes surveys after a while in which it can be undone: the service cannot bring a survey back. `hidden` holds those
 * that wait.
 */
export function useDeleteWithUndo() {
  const hidden = waiting.use();
  const remove = useCallback((id: string, title: string) => {
    const cancel = () => waiting.remove(id);
    const run = async () => {
      clearTimeout(timer);
      closeUndo();
      try {
        await deleteSurvey(id);
      } catch (error) {
        toast({ text: `“${title}” was not deleted. ${problemText(error).text}`, isError: true });
      } finally {
        cancel();
      }
    };
    const timer = setTimeout(run, undoSeconds * 1000);
    waiting.add(id, { timer, run });
    const closeUndo = toast({
      text: `“${title}” is deleted.`,
      seconds: undoSeconds,
      action: {
        label: 'Undo',
        run: () => {
          clearTimeout(timer);
          cancel();
        },
      },
    });
  }, []);
  return { hidden, remove };
}
