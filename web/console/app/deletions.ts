import { isRefusal, problemText } from '../data/problems.ts';
import { short } from '../parts/short.ts';
import { onOtherUser } from './session.ts';
import { sharedState, useShared } from './shared-state.ts';
import { toast } from './toasts.tsx';
import { addKeeper } from './unsaved.ts';

/**
 * How long a deletion can be taken back: the service cannot bring back what it has deleted. Some have the message read to
 * them first, which the page cannot know: their presses may come as clicks alone.
 */
const undoSeconds = 20;

interface Deletion {
  id: string;
  /** What messages call it. */
  name: string;
  /** The survey that it is a part of; undefined: it is a survey. */
  surveyId?: string;
  /** Deletes it in the service. */
  send(): Promise<unknown>;
  /** The same while the page is left. */
  sendWhileLeaving(): Promise<unknown>;
  /** Why the service has refused it. */
  refusalText?(error: unknown): string;
}

interface WaitingDeletion extends Deletion {
  /** Deletes it now. Says so and throws if it could not be deleted. */
  run(): Promise<void>;
  /** Neither deletes it nor offers to undo that any more. */
  cancel(): void;
}

const waiting = sharedState<ReadonlyMap<string, WaitingDeletion>>(new Map());

const forget = (id: string): void => waiting.set(new Map([...waiting.get()].filter(([other]) => other !== id)));

/** What could not be deleted when the user last wanted to sign out. */
let refused: readonly WaitingDeletion[] = [];

// A page that is left does not take a deletion back, nor offers to do so if the browser shows it again as it was.
addEventListener('pagehide', () => {
  for (const { sendWhileLeaving } of waiting.get().values()) void sendWhileLeaving();
});
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) for (const { run } of waiting.get().values()) void run().catch(() => undefined);
});

// Whoever signs out does not take it back either.
addKeeper({
  async save() {
    refused = [];
    const runs = [...waiting.get().values()].map((deletion) =>
      deletion.run().catch(() => {
        refused = [...refused, deletion];
      }),
    );
    await Promise.all(runs);
  },
  async carryOut(surveyId) {
    await Promise.all(deletionsWithin(surveyId).map(({ run }) => run()));
  },
  forget(surveyId) {
    for (const { cancel } of deletionsWithin(surveyId)) cancel();
  },
  isUnsaved: () => notDeleted().length > 0,
  get loss() {
    return notDeleted()
      .map(({ name }) => `“${name}” is not deleted.`)
      .join(' ');
  },
});

// Nothing is deleted in the name of another.
onOtherUser(() => {
  refused = [];
  for (const { cancel } of waiting.get().values()) cancel();
});

const notDeleted = (): WaitingDeletion[] => [...refused, ...waiting.get().values()];

const deletionsWithin = (surveyId: string): WaitingDeletion[] =>
  [...waiting.get().values()].filter((deletion) => deletion.surveyId === surveyId);

/** What is deleted in a moment, by its id: it is not shown any more, and its deletion can still be taken back. */
export const useWaitingDeletions = () => useShared(waiting);

/** Whether something is deleted in a moment. */
export const isWaiting = (id: string): boolean => waiting.get().has(id);

/** Deletes something when its message ends; until then its deletion can be taken back. */
export function deleteInAMoment(deletion: Deletion): void {
  const { id, refusalText = (error) => problemText(error).text } = deletion;
  const name = short(deletion.name);
  /** Whether the deletion is still that of the present user. */
  const isWanted = () => waiting.get().get(id) === own;
  const send = async () => {
    closeUndo();
    try {
      await deletion.send();
    } catch (error) {
      // Somebody else has deleted it meanwhile.
      if (isRefusal(error) && error.status === 404) return;
      if (isWanted()) toast({ text: `“${name}” was not deleted. ${refusalText(error)}`, isError: true });
      throw error;
    } finally {
      if (isWanted()) forget(id);
    }
  };
  let sent: Promise<void> | undefined;
  const run = () => {
    sent ??= send();
    return sent;
  };
  const cancel = () => {
    closeUndo();
    forget(id);
  };
  const own: WaitingDeletion = { ...deletion, name, run, cancel };
  waiting.set(new Map(waiting.get()).set(id, own));
  const closeUndo = toast({
    text: `“${name}” is deleted.`,
    seconds: undoSeconds,
    action: { label: 'Undo', run: cancel },
    onEnd: () => void run().catch(() => undefined),
  });
}
