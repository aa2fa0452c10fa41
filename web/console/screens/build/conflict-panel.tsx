import type { Definition } from '../../data/questions.ts';
import { Button } from '../../parts/button.tsx';
import { ConflictPanel, ProblemPanel } from '../../parts/conflict.tsx';
import { BrokenList } from './broken-dialog.tsx';
import styles from './build.module.css';
import { fieldNames, fieldText } from './differences.ts';
import type { Draft } from './draft.ts';
import { editingOf } from './editings.ts';

interface DraftPanelProps {
  survey: Definition;
  draft: Draft;
}

/** What stands between an edit and its being saved: somebody else's edit, a refusal, or conditions that would break. */
export function DraftPanel({ survey, draft }: DraftPanelProps) {
  const editing = editingOf(survey.id);
  if (draft.state === 'conflict' && draft.theirs)
    return (
      <ConflictPanel
        conflicts={Object.entries(draft.theirs).map(([field, theirs]) => ({
          field,
          name: fieldNames[field] ?? field,
          mine: fieldText(survey, field, draft.edits[field]),
          theirs: fieldText(survey, field, theirs),
        }))}
        onResolve={(field, choice) => editing.resolve(draft.id, field, choice)}
      />
    );
  if (draft.state === 'broken')
    return (
      <ProblemPanel label="Broken conditions">
        <h3>This is not saved: something else depends on what you changed</h3>
        <BrokenList survey={survey} broken={draft.broken ?? []} />
        <div className={styles.buttons}>
          <Button onPress={() => editing.takeBack(draft.id)}>Take my change back</Button>
          <Button look="danger" onPress={() => void editing.save(draft.id, { removeConditions: true })}>
            Remove these too
          </Button>
        </div>
      </ProblemPanel>
    );
  if (draft.state === 'failed')
    return (
      <ProblemPanel label="Not saved">
        <p>Not saved: {draft.problem}</p>
        {draft.details?.map(({ path, message }) => (
          <p key={path}>
            {fieldNames[path.split('.')[0] ?? ''] ?? path}: {message}
          </p>
        ))}
        <div className={styles.buttons}>
          <Button onPress={() => editing.takeBack(draft.id)}>Take my change back</Button>
          <Button onPress={() => void editing.save(draft.id)}>Try again</Button>
        </div>
      </ProblemPanel>
    );
  return null;
}
