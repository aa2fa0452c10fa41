import { type FocusEvent, useLayoutEffect, useRef } from 'react';
import { isTyping } from '../../app/keys.tsx';
import type { Definition } from '../../data/questions.ts';
import type { editingOf } from './editings.ts';
import type { Row } from './outline-rows.ts';

/**
 * Takes over what is stored now, and keeps the row in which the author types where somebody else has deleted it; what is
 * returned tells of the editor's fields whether one has the focus.
 */
export function useKeptEdits(editing: ReturnType<typeof editingOf>, stored: Definition, selected: Row | undefined) {
  /** Whether a field of the selected row has the focus. */
  const isTypedIn = useRef(false);
  const lastSelected = useRef<Row>(undefined);
  // Before the browser handles another key: the dialog takes it, where it would be a command otherwise.
  useLayoutEffect(() => {
    const row = lastSelected.current;
    if (isTypedIn.current && row?.kind === 'question') editing.keepIfDeleted(stored, row.kind, row.question);
    if (isTypedIn.current && row?.kind === 'section') editing.keepIfDeleted(stored, row.kind, row.section);
    editing.rebase(stored);
  }, [editing, stored]);
  useLayoutEffect(() => {
    // A field that disappears with its question fires no blur.
    if (lastSelected.current?.id !== selected?.id) isTypedIn.current = false;
    lastSelected.current = selected;
  }, [selected]);
  return {
    onFocus: (event: FocusEvent) => {
      isTypedIn.current = isTyping(event.target);
    },
    onBlur: () => {
      isTypedIn.current = false;
    },
  };
}
