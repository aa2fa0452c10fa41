import type { Definition } from '../../data/questions.ts';
import { Button } from '../../parts/button.tsx';
import { BrokenList } from './broken-dialog.tsx';
import styles from './build.module.css';
import { fieldNames, fieldText } from './differences.ts';
import { type Draft, editingOf } from './editing.ts';

interface DraftPanelProps {
  survey: Definition;
  draft: Draft;
}

/** What stands between an edit and its being saved: somebody else's edit, a refusal, or conditions that would break. */
export function DraftPanel({ survey, draft }: DraftPanelProps) {
  const editing = editingOf(survey.id);
  if (draft.state === 'conflict' && draft.theirs)
    return (
      <section className={styles.conflict} aria-label="Conflict" role="alert">
        <h3>Somebody else has changed this meanwhile</h3>
        {Object.keys(draft.theirs).map((field) => (
          <ConflictField key={field} survey={survey} draft={draft} field={field} />
        ))}
      </section>
    );
  if (draft.state === 'broken')
    return (
      <section className={styles.conflict} aria-label="Broken conditions" role="alert">
        <h3>This is not saved: something else depends on what you changed</h3>
        <BrokenList survey={survey} broken={draft.broken ?? []} />
        <div className={styles.buttons}>
          <Button onPress={() => editing.discard(draft.id)}>Take my change back</Button>
          <Button look="danger" onPress={() => void editing.save(draft.id, { removeConditions: true })}>
            Remove these conditions too
          </Button>
        </div>
      </section>
    );
  if (draft.state === 'failed')
    return (
      <section className={styles.conflict} aria-label="Not saved" role="alert">
        <p>Not saved: {draft.problem}</p>
        {draft.details?.map(({ path, message }) => (
          <p key={path}>
            {fieldNames[path.split('.')[0] ?? ''] ?? path}: {message}
          </p>
        ))}
        <div className={styles.buttons}>
          <Button onPress={() => editing.discard(draft.id)}>Take my change back</Button>
          <Button onPress={() => void editing.save(draft.id)}>Try again</Button>
        </div>
      </section>
    );
  return null;
}

function ConflictField({ survey, draft, field }: DraftPanelProps & { field: string }) {
  const editing = editingOf(survey.id);
  const name = fieldNames[field] ?? field;
  return (
    <div className={styles.sides}>
      <div>
        <h4>{name}: yours</h4>
        <p className={styles.value} dir="auto">
          {fieldText(survey, field, draft.edits[field])}
        </p>
        <Button onPress={() => editing.resolve(draft.id, field, 'mine')}>Keep mine</Button>
      </div>
      <div>
        <h4>{name}: theirs</h4>
        <p className={styles.value} dir="auto">
          {fieldText(survey, field, draft.theirs?.[field])}
        </p>
        <Button onPress={() => editing.resolve(draft.id, field, 'theirs')}>Take theirs</Button>
      </div>
    </div>
  );
}
