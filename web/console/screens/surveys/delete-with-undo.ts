import { useCallback, useSyncExternalStore } from 'react';
import { toast } from '../../app/toasts.tsx';
import { addKeeper } from '../../app/unsaved.ts';
import { problemText } from '../../data/problems.ts';
import { deleteSurvey, deleteSurveyWhileLeaving } from '../../data/surveys.ts';

/** How long a deletion can be taken back. */
const undoSeconds = 8;

interface Deletion {
  timer: ReturnType<typeof setTimeout>;
  /** Deletes it now. */
  run(): Promise<void>;
}

let waiting: ReadonlyMap<string, Deletion> = new Map();
const listeners = new Set<() => void>();

function set(change: (next: Map<string, Deletion>) => void): void {
  const next = new Map(waiting);
  change(next);
  waiting = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

// A page that is left does not take a deletion back.
addEventListener('pagehide', () => {
  for (const [id, { timer }] of waiting) {
    clearTimeout(timer);
    void deleteSurveyWhileLeaving(id);
  }
});

// Whoever signs out does not take it back either.
addKeeper({
  async save() {
    await Promise.all([...waiting.values()].map(({ run }) => run()));
  },
  isUnsaved: () => waiting.size > 0,
});

/**
 * Deletes surveys after a while in which it can be undone: the service cannot bring a survey back. `hidden` holds those
 * that wait.
 */
export function useDeleteWithUndo() {
  const hidden = useSyncExternalStore(subscribe, () => waiting);
  const remove = useCallback((id: string, title: string) => {
    const cancel = () => set((next) => next.delete(id));
    const run = async () => {
      clearTimeout(timer);
      try {
        await deleteSurvey(id);
      } catch (error) {
        toast({ text: `“${title}” was not deleted. ${problemText(error).text}`, isError: true });
      } finally {
        cancel();
      }
    };
    const timer = setTimeout(run, undoSeconds * 1000);
    set((next) => next.set(id, { timer, run }));
    toast({
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
