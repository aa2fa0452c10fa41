import { Copy, Trash2 } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { WordingField } from '../../conditions/wording-field.tsx';
import { questionTypeTitles } from '../../data/question-types.ts';
import type { Definition, Item, Question, QuestionTypeName } from '../../data/questions.ts';
import { IconButton, ignoreSecondClick } from '../../parts/button.tsx';
import { Select, Switch } from '../../parts/choice-fields.tsx';
import styles from './build.module.css';
import { DraftPanel } from './conflict-panel.tsx';
import type { Draft } from './draft.ts';
import { editingOf } from './editings.ts';
import { ItemsEditor } from './items-editor.tsx';
import { useLogicDialog } from './logic-dialog.tsx';
import { QuestionLogic } from './logic-editor.tsx';
import { questionsBefore, sectionText } from './outline-rows.ts';
import { typeNames, typeOf, typesLike } from './question-types.ts';
import { SettingsEditor } from './settings-editor.tsx';

interface QuestionEditorProps {
  survey: Definition;
  question: Question;
  number: number;
  draft: Draft | undefined;
  isReadOnly: boolean;
  /** It was opened: its text takes the focus, which `onFocused` is told. */
  takesFocus: boolean;
  onFocused(): void;
  moveButtons: ReactNode;
  onDuplicate(): void;
  onDelete(): void;
}

/** Everything of one question, saved as it is typed. */
export function QuestionEditor(props: QuestionEditorProps) {
  const { survey, question, number, draft, isReadOnly, takesFocus, onFocused } = props;
  const { moveButtons, onDuplicate, onDelete } = props;
  const editing = editingOf(survey.id);
  const { options, hasRows, optionNoun = 'option' } = typeOf(question.type);
  const edit = (changes: Partial<Question>) => editing.edit('question', question, survey.version, changes);
  const problemOf = (path: string) => draft?.details?.find((detail) => detail.path === path)?.message;
  const earlier = questionsBefore(survey, question.id);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!takesFocus) return;
    const field = root.current?.querySelector('textarea');
    field?.focus();
    field?.select();
    onFocused();
  }, [takesFocus, onFocused]);
  const setRows = (rows: Item[]) => edit({ settings: { ...question.settings, rows } });
  const itemLogic = useLogicDialog(survey, question, (list, item) =>
    list === 'options'
      ? edit({ options: question.options.map((other) => (other.id === item.id ? item : other)) })
      : setRows((question.settings.rows ?? []).map((other) => (other.id === item.id ? item : other))),
  );

  return (
    <div ref={root} className={styles.editor}>
      <header className={styles.editorHead}>
        <h2 aria-live="polite">Question {number}</h2>
        <TypeSelect question={question} isReadOnly={isReadOnly} onChange={(type) => edit({ type })} />
        {!isReadOnly && (
          <span className={styles.end}>
            {moveButtons}
            <span onClickCapture={ignoreSecondClick}>
              <IconButton label="Duplicate the question" icon={<Copy aria-hidden />} onPress={onDuplicate} />
              <IconButton label="Delete the question" icon={<Trash2 aria-hidden />} onPress={onDelete} />
            </span>
          </span>
        )}
      </header>
      {survey.sections.length > 0 && (
        <span className="muted" aria-live="polite" dir="auto">
          {sectionText(survey, question)}
        </span>
      )}
      {draft && <DraftPanel survey={survey} draft={draft} />}
      <WordingField
        label="Text"
        earlier={earlier}
        value={question.text}
        onChange={(text) => edit({ text })}
        isReadOnly={isReadOnly}
        maxLength={2000}
        error={problemOf('text')}
      />
      <WordingField
        label="Description"
        earlier={earlier}
        value={question.description ?? ''}
        onChange={(description) => edit({ description: description === '' ? null : description })}
        isReadOnly={isReadOnly}
        maxLength={5000}
        error={problemOf('description')}
      />
      <Switch isSelected={question.isRequired} onChange={(isRequired) => edit({ isRequired })} isDisabled={isReadOnly}>
        Required
      </Switch>
      {hasRows && (
        <ItemsEditor
          noun="row"
          items={question.settings.rows ?? []}
          onChange={setRows}
          isReadOnly={isReadOnly}
          keyOf={editing.keyOf}
          problemOf={(index, field) => problemOf(`settings.rows.${index}.${field}`)}
          onCondition={(item) => itemLogic.open('rows', item)}
        />
      )}
      {options && (
        <ItemsEditor
          noun={optionNoun}
          items={question.options}
          onChange={(next) => edit({ options: next })}
          isReadOnly={isReadOnly}
          isFixed={options === 'fixed'}
          keyOf={editing.keyOf}
          problemOf={(index, field) => problemOf(`options.${index}.${field}`)}
          onCondition={(item) => itemLogic.open('options', item)}
        />
      )}
      <SettingsEditor
        question={question}
        onChange={(settings) => edit({ settings })}
        isReadOnly={isReadOnly}
        problemOf={problemOf}
      />
      <QuestionLogic survey={survey} question={question} onChange={edit} isReadOnly={isReadOnly} />
      {itemLogic.dialog}
    </div>
  );
}

interface TypeSelectProps {
  question: Question;
  isReadOnly: boolean;
  onChange(type: QuestionTypeName): void;
}

function TypeSelect({ question: { type }, isReadOnly, onChange }: TypeSelectProps) {
  const near = typesLike(type);
  const order = [...near, ...typeNames.filter((name) => !near.includes(name))];
  return (
    <Select
      label="Type"
      isLabelHidden
      options={order.map((name) => ({ value: name, label: questionTypeTitles[name] }))}
      value={type}
      onChange={onChange}
      isDisabled={isReadOnly}
    />
  );
}
