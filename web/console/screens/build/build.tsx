import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useLocation, useRouter } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { useWaitingDeletions } from '../../app/deletions.ts';
import { isTyping, useKey } from '../../app/keys.tsx';
import { useMayEditSurvey, useSurveyId } from '../../app/survey-layout.tsx';
import { useIsShown } from '../../app/use-is-shown.ts';
import { type Definition, definitionOf, type QuestionTypeName, type Section } from '../../data/questions.ts';
import { buildShown } from '../../data/survey-reads.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { cx } from '../../parts/cx.ts';
import { EmptyState, ErrorState, Loading } from '../../parts/feedback.tsx';
import { AddMenu } from './add-menu.tsx';
import { BrokenDialog } from './broken-dialog.tsx';
import styles from './build.module.css';
import { copyOf, newQuestionOf, useChanges } from './changes.ts';
import { DeletedDialog } from './deleted-dialog.tsx';
import { withEdits } from './draft.ts';
import { editingOf } from './editings.ts';
import { MoveButtons } from './move-buttons.tsx';
import { Outline } from './outline.tsx';
import { moveTarget, orderInSurvey, placeAt, type Row, rowsOf } from './outline-rows.ts';
import { QuestionEditor } from './question-editor.tsx';
import { SaveState } from './save-state.tsx';
import { SectionDialog } from './section-dialog.tsx';
import { SectionEditor, SurveyEditor } from './section-editor.tsx';
import { SidePane } from './side-pane.tsx';

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Whether the page before in the browser's history is the outline from which this editor was opened. */
    isFromOutline?: boolean;
  }
}

const route = getRouteApi('/app/surveys/$surveyId/build');

/** Whether outline and editor are shown one at a time, by the same width as in the styles. */
const isNarrow = () => matchMedia('(width < 48rem)').matches;

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
  const { item, pane } = route.useSearch();
  const navigate = route.useNavigate();
  const changes = useChanges(surveyId);
  /** The row whose editor takes the focus once it is shown. */
  const [opened, setOpened] = useState<string>();
  /** What was shown when something was moved: it stays shown, though another question may be the first one then. */
  const [kept, setKept] = useState<string>();
  /** The row of the outline that takes the focus. */
  const [rowToFocus, setRowToFocus] = useState<string>();
  const onRowFocused = useCallback(() => setRowToFocus(undefined), []);
  const [isAdding, setAdding] = useState(false);
  /** The section that the author is asked about before it is deleted. */
  const [sectionToDelete, setSectionToDelete] = useState<Section>();

  useEffect(() => buildShown(surveyId), [surveyId]);
  useEffect(() => () => void editing.flush(), [editing]);

  const selected =
    rows.find(({ id }) => id === (item ?? kept)) ?? rows.find(({ kind }) => kind === 'question') ?? rows[0];
  const isFromOutline = useLocation({ select: ({ state }) => state.isFromOutline === true });
  const router = useRouter();
  const select = useCallback(
    (id: string) => {
      const { item: shown } = router.latestLocation.search as { item?: string };
      const opensEditor = shown === undefined && isNarrow();
      void navigate({
        search: (old) => ({ ...old, item: id }),
        replace: !opensEditor,
        resetScroll: false,
        state: opensEditor ? { isFromOutline: true } : true,
      });
    },
    [navigate, router],
  );
  const closeEditor = () => {
    if (isFromOutline) router.history.back();
    else void navigate({ search: (old) => ({ ...old, item: undefined }), replace: true, resetScroll: false });
  };
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
  const isShown = useIsShown();
  const open = (id: string) => {
    if (!isShown()) return;
    select(id);
    setOpened(id);
  };
  const onFocused = useCallback(() => setOpened(undefined), []);
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
      await editing.flush();
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
    setKept(selected?.id);
    void changes.move(row.id, target);
  };
  const openAdd = useCallback(() => setAdding(true), []);
  useKey('a', 'Add a question', canEdit ? openAdd : undefined);

  const draft = selected && drafts.get(selected.id);
  const deleted = [...drafts.values()].find(({ state }) => state === 'deleted');
  const hasItem = item !== undefined;
  return (
    <div className={cx(styles.build, hasItem && styles.hasItem)}>
      <section className={styles.outline} aria-label="Questions">
        <div className={styles.bar}>
          {canEdit && (
            <AddMenu
              isOpen={isAdding}
              onOpenChange={setAdding}
              onAdd={(type) => void add(type)}
              onAddSection={() => void addSection()}
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
          rowToFocus={rowToFocus}
          onRowFocused={onRowFocused}
          onSelect={select}
          onOpen={open}
          onMove={move}
          onDelete={remove}
          onDuplicate={(row) => void duplicate(row)}
        />
      </section>
      <section
        className={styles.middle}
        aria-label="Editor"
        onFocus={(event) => {
          isTypedIn.current = isTyping(event.target);
        }}
        onBlur={() => {
          isTypedIn.current = false;
        }}
      >
        <span className={styles.back}>
          <IconButton label="Back to the outline" icon={<ArrowLeft aria-hidden />} onPress={closeEditor} />
        </span>
        {survey.questions.length === 0 && selected?.kind === 'survey' && (
          <EmptyState
            title="No questions yet"
            action={canEdit && <Button onPress={openAdd}>Add the first question</Button>}
          >
            A question is one of 17 types; press A to add one.
          </EmptyState>
        )}
        {selected?.kind === 'question' && (
          <QuestionEditor
            key={selected.id}
            survey={survey}
            question={selected.question}
            number={selected.number}
            draft={draft}
            isReadOnly={!canEdit}
            takesFocus={opened === selected.id}
            onFocused={onFocused}
            moveButtons={<MoveButtons rows={rows} row={selected} onMove={move} />}
            onDuplicate={() => void duplicate(selected)}
            onDelete={() => remove(selected)}
          />
        )}
        {selected?.kind === 'section' && (
          <SectionEditor
            key={selected.id}
            survey={survey}
            section={selected.section}
            draft={draft}
            isReadOnly={!canEdit}
            takesFocus={opened === selected.id}
            onFocused={onFocused}
            moveButtons={<MoveButtons rows={rows} row={selected} onMove={move} />}
            onDelete={() => remove(selected)}
          />
        )}
        {selected?.kind === 'survey' && <SurveyEditor survey={survey} draft={draft} isReadOnly={!canEdit} />}
      </section>
      <SidePane
        survey={survey}
        stored={stored}
        selected={selected}
        pane={pane ?? 'preview'}
        onPane={(next) =>
          void navigate({ search: (old) => ({ ...old, pane: next }), replace: true, resetScroll: false, state: true })
        }
        onSelect={select}
      />
      {deleted && <DeletedDialog survey={survey} draft={deleted} />}
      {sectionToDelete && (
        <SectionDialog
          survey={survey}
          section={sectionToDelete}
          onClose={() => setSectionToDelete(undefined)}
          onConfirm={() => void changes.removeSection(sectionToDelete.id)}
        />
      )}
      {changes.breaking && <BrokenDialog survey={survey} change={changes.breaking} onClose={changes.closeBreaking} />}
    </div>
  );
}

async function retryAll(surveyId: string): Promise<void> {
  const editing = editingOf(surveyId);
  await Promise.all([...editing.drafts().values()].map(({ id }) => editing.save(id)));
}
