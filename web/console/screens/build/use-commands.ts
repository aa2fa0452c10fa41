import { useCallback, useRef, useState } from 'react';
import { useWaitingDeletions } from '../../app/deletions.ts';
import { useIsShown } from '../../app/use-is-shown.ts';
import type { Definition, QuestionTypeName, Section } from '../../data/questions.ts';
import { copyOf, newQuestionOf, useChanges } from './changes.ts';
import { editingOf } from './editings.ts';
import { moveTarget, orderInSurvey, placeAt, type Row } from './outline-rows.ts';
import type { useSelectedRow } from './use-selected-row.ts';

type Selection = Pick<ReturnType<typeof useSelectedRow>, 'selected' | 'select' | 'keepSelected'>;

/** What an author does with whole rows: add, duplicate, move and delete them; and which row has the focus after it. */
export function useCommands(stored: Definition, rows: readonly Row[], { selected, select, keepSelected }: Selection) {
  const changes = useChanges(stored.id);
  const waiting = useWaitingDeletions();
  const isShown = useIsShown();
  /** The row whose editor takes the focus once it is shown. */
  const [opened, setOpened] = useState<string>();
  /** The row of the outline that takes the focus. */
  const [rowToFocus, setRowToFocus] = useState<string>();
  /** The section that the author is asked about before it is deleted. */
  const [sectionToDelete, setSectionToDelete] = useState<Section>();
  const onFocused = useCallback(() => setOpened(undefined), []);
  const onRowFocused = useCallback(() => setRowToFocus(undefined), []);

  const open = (id: string) => {
    if (!isShown()) return;
    select(id);
    setOpened(id);
  };
  const add = async (type: QuestionTypeName) => {
    const index = selected ? rows.indexOf(selected) + 1 : rows.length;
    const isAtTop = selected?.kind === 'survey';
    const { sectionId, order } = placeAt(rows, isAtTop ? rows.length : index);
    const place = { sectionId, order: orderInSurvey(stored, order, (id) => !waiting.has(id)) };
    const question = await changes.add(newQuestionOf(type, place));
    if (question) open(question.id);
  };
  const addSection = async () => {
    const id = await changes.addSection();
    if (id !== undefined) open(id);
  };
  const isCopying = useRef(false);
  const duplicate = async (row: Row | undefined) => {
    if (row?.kind !== 'question' || isCopying.current) return;
    isCopying.current = true;
    try {
      await editingOf(stored.id).flush();
      const copy = await changes.add(copyOf(row.question));
      if (copy) open(copy.id);
    } finally {
      isCopying.current = false;
    }
  };
  const remove = (row: Row | undefined) => {
    if (row?.kind === 'section') setSectionToDelete(row.section);
    if (row?.kind !== 'question') return;
    const index = rows.indexOf(row);
    const next = [rows[index + 1], rows[index - 1]].find((other) => other?.kind === 'question') ?? rows[0];
    if (row.id === selected?.id && next) {
      select(next.id);
      // The button or row that was pressed goes with the question.
      setRowToFocus(next.id);
    }
    void changes.remove(row.question);
  };
  const move = (row: Row, to: number | undefined) => {
    const target = to === undefined ? undefined : moveTarget(rows, rows.indexOf(row), to);
    if (!target) return;
    keepSelected();
    void changes.move(row.id, target);
  };

  return {
    open,
    add,
    addSection,
    duplicate,
    remove,
    move,
    opened,
    onFocused,
    rowToFocus,
    onRowFocused,
    sectionToDelete,
    closeSection: () => setSectionToDelete(undefined),
    removeSection: changes.removeSection,
    breaking: changes.breaking,
    closeBreaking: changes.closeBreaking,
  };
}
