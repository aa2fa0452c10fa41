import { type ReactNode, useState } from 'react';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import type { Definition, Item, Question } from '../../data/questions.ts';
import { ConditionDialog } from './condition-dialog.tsx';
import { editingOf } from './editings.ts';
import { questionsBefore } from './outline-rows.ts';

type ItemList = 'options' | 'rows';

/** The dialog for the condition of an option or row. */
export function useLogicDialog(
  survey: Definition,
  question: Question,
  onChange: (list: ItemList, item: Item) => void,
): { open(list: ItemList, item: Item): void; dialog: ReactNode } {
  const [opened, setOpened] = useState<{ list: ItemList; item: Item }>();
  // As it is now: a new item gets another id when it is saved, and its text may change.
  const { keyOf } = editingOf(survey.id);
  const items = opened?.list === 'rows' ? (question.settings.rows ?? []) : question.options;
  const item = opened && items.find(({ id }) => keyOf(id) === keyOf(opened.item.id));
  const dialog = opened && item && (
    <ConditionDialog
      title={`Show “${readable(item.text)}” if`}
      survey={survey}
      earlier={questionsBefore(survey, question.id)}
      condition={item.visibleIf ?? null}
      onSave={(visibleIf) => onChange(opened.list, { ...item, visibleIf })}
      onClose={() => setOpened(undefined)}
    />
  );
  return { open: (list, chosen) => setOpened({ list, item: chosen }), dialog };
}
