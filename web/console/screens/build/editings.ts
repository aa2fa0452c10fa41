import { onOtherUser, onSignIn } from '../../app/session.ts';
import { addKeeper, canBeSaved } from '../../app/unsaved.ts';
import { Editing } from './editing.ts';

const editings = new Map<string, Editing>();

/** The edits of a survey: the same object wherever it is asked for. */
export function editingOf(surveyId: string): Editing {
  let editing = editings.get(surveyId);
  if (!editing) {
    editing = new Editing(surveyId);
    editings.set(surveyId, editing);
  }
  return editing;
}

const unsavedEditings = (): Editing[] =>
  [...editings].flatMap(([id, editing]) => (editing.drafts().size > 0 && canBeSaved(id) ? [editing] : []));

// The browser asks before it throws away what could not be saved.
addEventListener('beforeunload', (event) => {
  for (const editing of unsavedEditings()) {
    void editing.flush();
    event.preventDefault();
  }
});

addKeeper({
  async save() {
    await Promise.all([...editings.values()].map((editing) => editing.saveAll()));
  },
  async carryOut(surveyId) {
    await editings.get(surveyId)?.saveWhole();
  },
  forget(surveyId) {
    editings.get(surveyId)?.discardAll();
  },
  isUnsaved: () => unsavedEditings().length > 0,
});

onOtherUser(() => {
  for (const editing of editings.values()) editing.discardAll();
});

onSignIn(() => {
  for (const editing of editings.values()) void editing.saveSignedOut();
});
