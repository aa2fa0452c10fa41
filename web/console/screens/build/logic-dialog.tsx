import { type ReactNode, useState } from 'react';
import type { Definition, Item, Question } from '../../data/questions.ts';
import { ConditionDialog } from './condition-dialog.tsx';
import { questionsBefore } from './logic-words.ts';

type ItemList = 'options' | 'rows';

/** The dialog for the condition of an option or row. */
export function useLogicDialog(
  survey: Definition,
  question: Question,
  onChange: (list: ItemList, item: Item) => void,
): { open(list: ItemList, item: Item): void; dialog: ReactNode } {
  const [opened, setOpened] = useState<{ list: ItemList; item: Item }>();
  const dialog = opened && (
    <ConditionDialog
      title={`Show “${opened.item.text}” if`}
      survey={survey}
      earlier={questionsBefore(survey, question.id)}
      condition={opened.item.visibleIf ?? null}
      onSave={(visibleIf) => onChange(opened.list, { ...opened.item, visibleIf })}
      onClose={() => setOpened(undefined)}
    />
  );
  return { open: (list, item) => setOpened({ list, item }), dialog };
}
