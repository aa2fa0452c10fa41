import { Trash2 } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { WordingField, WordingLine } from '../../conditions/wording-field.tsx';
import type { Definition, Section } from '../../data/questions.ts';
import { IconButton } from '../../parts/button.tsx';
import { Checkbox } from '../../parts/choice-fields.tsx';
import styles from './build.module.css';
import { DraftPanel } from './conflict-panel.tsx';
import type { Draft } from './draft.ts';
import { editingOf } from './editings.ts';
import { ConditionField } from './logic-editor.tsx';
import { questionsBefore } from './outline-rows.ts';

interface SectionEditorProps {
  survey: Definition;
  section: Section;
  draft: Draft | undefined;
  isReadOnly: boolean;
  /** It was opened: its title takes the focus, which `onFocused` is told. */
  takesFocus: boolean;
  onFocused(): void;
  moveButtons: ReactNode;
  onDelete(): void;
}

/** A section: its texts, its condition and its order of questions. */
export function SectionEditor(props: SectionEditorProps) {
  const { survey, section, draft, isReadOnly, takesFocus, onFocused, moveButtons, onDelete } = props;
  const edit = (changes: Partial<Section>) => editingOf(survey.id).edit('section', section, survey.version, changes);
  const problemOf = (path: string) => draft?.details?.find((detail) => detail.path === path)?.message;
  const title = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!takesFocus) return;
    title.current?.focus();
    title.current?.select();
    onFocused();
  }, [takesFocus, onFocused]);
  return (
    <div className={styles.editor}>
      <header className={styles.editorHead}>
        <h2 aria-live="polite">Section {survey.sections.findIndex(({ id }) => id === section.id) + 1}</h2>
        {!isReadOnly && (
          <span className={styles.end}>
            {moveButtons}
            <IconButton label="Delete the section" icon={<Trash2 aria-hidden />} onPress={onDelete} />
          </span>
        )}
      </header>
      {draft && <DraftPanel survey={survey} draft={draft} />}
      <WordingLine
        label="Title"
        value={section.title}
        dir="auto"
        onChange={(text) => edit({ title: text })}
        isReadOnly={isReadOnly}
        maxLength={300}
        error={problemOf('title')}
        inputRef={title}
      />
      <WordingField
        label="Description"
        earlier={questionsBefore(survey, section.id)}
        value={section.description ?? ''}
        onChange={(description) => edit({ description: description === '' ? null : description })}
        isReadOnly={isReadOnly}
        maxLength={5000}
        error={problemOf('description')}
      />
      <Checkbox isSelected={section.isShuffled} onChange={(isShuffled) => edit({ isShuffled })} isDisabled={isReadOnly}>
        Shuffle its questions
      </Checkbox>
      {survey.isShuffled && (
        <Checkbox
          isSelected={section.isAnchored}
          onChange={(isAnchored) => edit({ isAnchored })}
          isDisabled={isReadOnly}
        >
          Keep its place when the sections are shuffled
        </Checkbox>
      )}
      <section className={styles.part} aria-label="Logic">
        <h3>Logic</h3>
        <ConditionField
          survey={survey}
          before={section.id}
          lead="Show if"
          always="Shown to everybody."
          condition={section.visibleIf}
          onChange={(visibleIf) => edit({ visibleIf })}
          isReadOnly={isReadOnly}
        />
      </section>
    </div>
  );
}

interface SurveyEditorProps {
  survey: Definition;
  draft: Draft | undefined;
  isReadOnly: boolean;
}

/** The texts of the survey itself. */
export function SurveyEditor({ survey, draft, isReadOnly }: SurveyEditorProps) {
  const edit = (changes: Partial<Definition>) => editingOf(survey.id).edit('survey', survey, survey.version, changes);
  const problemOf = (path: string) => draft?.details?.find((detail) => detail.path === path)?.message;
  return (
    <div className={styles.editor}>
      <header className={styles.editorHead}>
        <h2>Survey</h2>
      </header>
      {draft && <DraftPanel survey={survey} draft={draft} />}
      <WordingLine
        label="Title"
        value={survey.title}
        dir="auto"
        onChange={(title) => edit({ title })}
        isReadOnly={isReadOnly}
        maxLength={300}
        error={problemOf('title')}
      />
      <WordingField
        label="Description"
        earlier={[]}
        value={survey.description ?? ''}
        onChange={(description) => edit({ description: description === '' ? null : description })}
        isReadOnly={isReadOnly}
        maxLength={5000}
        error={problemOf('description')}
      />
      <Checkbox isSelected={survey.isShuffled} onChange={(isShuffled) => edit({ isShuffled })} isDisabled={isReadOnly}>
        Shuffle the sections
      </Checkbox>
    </div>
  );
}
