import { readable } from '../../../../src/domain/path/placeholders.ts';
import type { Definition } from '../../data/questions.ts';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import styles from './build.module.css';
import type { BreakingChange } from './changes.ts';
import type { BrokenPlace } from './draft.ts';

/** Says what a change would break and offers to remove that with it. */
export function BrokenDialog({
  survey,
  change,
  onClose,
}: {
  survey: Definition;
  change: BreakingChange;
  onClose(): void;
}) {
  return (
    <ConfirmDialog
      title={change.title}
      isOpen
      onClose={onClose}
      action="Remove these too"
      isDangerous
      onConfirm={change.confirm}
    >
      <p>Something else in the survey depends on this:</p>
      <BrokenList survey={survey} broken={change.broken} />
      <p>These go with it. Texts stay, without the answer that they insert.</p>
    </ConfirmDialog>
  );
}

export function BrokenList({ survey, broken }: { survey: Definition; broken: readonly BrokenPlace[] }) {
  return (
    <ul className={styles.broken}>
      {broken.map((place) => (
        <li key={`${place.kind} ${place.questionId} ${place.sectionId} ${place.optionId} ${place.path}`}>
          {placeText(survey, place)}
        </li>
      ))}
    </ul>
  );
}

const kinds: Readonly<Record<string, string>> = {
  visibleIf: 'the condition',
  skip: 'a skip',
  optionsFrom: 'the choice of options',
  text: 'the text',
  closingText: 'the closing text',
};

function placeText(survey: Definition, place: BrokenPlace): string {
  if (place.kind === 'quota') return `the quota “${place.quotaName ?? ''}”`;
  const question = survey.questions.find(({ id }) => id === place.questionId);
  const section = survey.sections.find(({ id }) => id === place.sectionId);
  const item =
    question?.options.find(({ id }) => id === place.optionId) ??
    question?.settings.rows?.find(({ id }) => id === place.rowId);
  const owner = question?.text ?? (section ? section.title || 'a section without title' : survey.title);
  const what = `${kinds[place.kind] ?? place.path} of ${item ? `“${readable(item.text)}” in ` : ''}“${readable(owner)}”`;
  return place.language ? `${what} (${place.language})` : what;
}
