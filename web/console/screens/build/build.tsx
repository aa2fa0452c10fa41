import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { useWaitingDeletions } from '../../app/deletions.ts';
import { useKey } from '../../app/keys.tsx';
import { useMayEditSurvey, useSurveyId } from '../../app/survey-layout.tsx';
import { type Definition, definitionOf } from '../../data/questions.ts';
import { buildShown } from '../../data/survey-reads.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { cx } from '../../parts/cx.ts';
import { EmptyState, ErrorState, Loading } from '../../parts/feedback.tsx';
import { AddMenu } from './add-menu.tsx';
import { BrokenDialog } from './broken-dialog.tsx';
import styles from './build.module.css';
import { DeletedDialog } from './deleted-dialog.tsx';
import { withEdits } from './draft.ts';
import { editingOf } from './editings.ts';
import { Outline } from './outline.tsx';
import { rowsOf } from './outline-rows.ts';
import { RowEditor } from './row-editor.tsx';
import { SaveState } from './save-state.tsx';
import { SectionDialog } from './section-dialog.tsx';
import { SidePane } from './side-pane.tsx';
import { useCommands } from './use-commands.ts';
import { useKeptEdits } from './use-kept-edits.ts';
import { useSelectedRow } from './use-selected-row.ts';

const route = getRouteApi('/app/surveys/$surveyId/build');

/** Edits what a survey asks: its outline, the selected part of it, and what respondents will see. */
export function Screen() {
  const surveyId = useSurveyId();
  const { data, error, refetch } = useQuery(surveyQuery(surveyId));
  if (error && !data) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading lines={8} />;
  return <Builder key={surveyId} stored={definitionOf(data)} />;
}

function Builder({ stored }: { stored: Definition }) {
  const { id: surveyId } = stored;
  const editing = editingOf(surveyId);
  const drafts = useSyncExternalStore(editing.subscribe, editing.drafts);
  const waiting = useWaitingDeletions();
  const survey = useMemo(() => {
    const shown = { ...stored, questions: stored.questions.filter(({ id }) => !waiting.has(id)) };
    return withEdits(shown, drafts);
  }, [stored, drafts, waiting]);
  const rows = useMemo(() => rowsOf(survey), [survey]);
  const canEdit = useMayEditSurvey();
  const { pane } = route.useSearch();
  const navigate = route.useNavigate();
  const selection = useSelectedRow(rows);
  const { selected } = selection;
  const typing = useKeptEdits(editing, stored, selected);
  const commands = useCommands(stored, rows, selection);
  const { sectionToDelete, breaking } = commands;
  const [isAdding, setAdding] = useState(false);
  const openAdd = useCallback(() => setAdding(true), []);
  useKey('a', 'Add a question', canEdit ? openAdd : undefined);
  useEffect(() => buildShown(surveyId), [surveyId]);
  useEffect(() => () => void editing.flush(), [editing]);

  const deleted = [...drafts.values()].find(({ state }) => state === 'deleted');
  return (
    <div className={cx(styles.build, selection.isNamed && styles.hasItem)}>
      <section className={styles.outline} aria-label="Questions">
        <div className={styles.bar}>
          {canEdit && (
            <AddMenu
              isOpen={isAdding}
              onOpenChange={setAdding}
              onAdd={(type) => void commands.add(type)}
              onAddSection={() => void commands.addSection()}
            />
          )}
          {canEdit && <SaveState drafts={drafts} onRetry={() => void retryAll(surveyId)} />}
        </div>
        <Outline
          survey={survey}
          rows={rows}
          drafts={drafts}
          selected={selected?.id}
          canEdit={canEdit}
          rowToFocus={commands.rowToFocus}
          onRowFocused={commands.onRowFocused}
          onSelect={selection.select}
          onOpen={commands.open}
          onMove={commands.move}
          onDelete={commands.remove}
          onDuplicate={(row) => void commands.duplicate(row)}
        />
      </section>
      <section className={styles.middle} aria-label="Editor" {...typing}>
        <span className={styles.back}>
          <IconButton label="Back to the outline" icon={<ArrowLeft aria-hidden />} onPress={selection.closeEditor} />
        </span>
        {survey.questions.length === 0 && selected?.kind === 'survey' && (
          <EmptyState
            title="No questions yet"
            action={canEdit && <Button onPress={openAdd}>Add the first question</Button>}
          >
            A question is one of 17 types; press A to add one.
          </EmptyState>
        )}
        {selected && (
          <RowEditor
            survey={survey}
            rows={rows}
            row={selected}
            draft={drafts.get(selected.id)}
            isReadOnly={!canEdit}
            commands={commands}
          />
        )}
      </section>
      <SidePane
        survey={survey}
        stored={stored}
        selected={selected}
        pane={pane ?? 'preview'}
        onPane={(next) =>
          void navigate({ search: (old) => ({ ...old, pane: next }), replace: true, resetScroll: false, state: true })
        }
        onSelect={selection.select}
      />
      {deleted && <DeletedDialog survey={survey} draft={deleted} />}
      {sectionToDelete && (
        <SectionDialog
          survey={survey}
          section={sectionToDelete}
          onClose={commands.closeSection}
          onConfirm={() => void commands.removeSection(sectionToDelete.id)}
        />
      )}
      {breaking && <BrokenDialog survey={survey} change={breaking} onClose={commands.closeBreaking} />}
    </div>
  );
}

async function retryAll(surveyId: string): Promise<void> {
  const editing = editingOf(surveyId);
  await Promise.all([...editing.drafts().values()].map(({ id }) => editing.save(id)));
}
