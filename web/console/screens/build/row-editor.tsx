import type { Definition } from '../../data/questions.ts';
import type { Draft } from './draft.ts';
import { MoveButtons } from './move-buttons.tsx';
import type { Row } from './outline-rows.ts';
import { QuestionEditor } from './question-editor.tsx';
import { SectionEditor, SurveyEditor } from './section-editor.tsx';
import type { useCommands } from './use-commands.ts';

interface RowEditorProps {
  survey: Definition;
  rows: readonly Row[];
  row: Row;
  draft: Draft | undefined;
  isReadOnly: boolean;
  commands: Pick<ReturnType<typeof useCommands>, 'opened' | 'onFocused' | 'move' | 'duplicate' | 'remove'>;
}

/** Edits a row of the outline: a question, a section or the survey itself. */
export function RowEditor({ survey, rows, row, draft, isReadOnly, commands }: RowEditorProps) {
  if (row.kind === 'survey') return <SurveyEditor survey={survey} draft={draft} isReadOnly={isReadOnly} />;
  const shared = {
    survey,
    draft,
    isReadOnly,
    takesFocus: commands.opened === row.id,
    onFocused: commands.onFocused,
    moveButtons: <MoveButtons rows={rows} row={row} onMove={commands.move} />,
    onDelete: () => commands.remove(row),
  };
  if (row.kind === 'section') return <SectionEditor key={row.id} section={row.section} {...shared} />;
  return (
    <QuestionEditor
      key={row.id}
      question={row.question}
      number={row.number}
      onDuplicate={() => void commands.duplicate(row)}
      {...shared}
    />
  );
}
