import { readable } from '../../../../src/domain/path/placeholders.ts';
import type { Definition, Section } from '../../data/questions.ts';
import { ConfirmDialog } from '../../parts/dialog.tsx';

interface SectionDialogProps {
  survey: Definition;
  section: Section;
  onClose(): void;
  onConfirm(): void;
}

/** Asks before a section is deleted, which cannot be undone, and says what becomes of its questions. */
export function SectionDialog({ survey, section, onClose, onConfirm }: SectionDialogProps) {
  const count = survey.questions.filter(({ sectionId }) => sectionId === section.id).length;
  const isFirst = survey.sections[0]?.id === section.id;
  return (
    <ConfirmDialog
      title={section.title ? `Delete the section “${readable(section.title)}”?` : 'Delete the section?'}
      isOpen
      onClose={onClose}
      action="Delete the section"
      isDangerous
      // This dialog is closed first: another one may follow, on what the deletion would break.
      onConfirm={async () => onConfirm()}
    >
      <p>
        {staying(count)}
        {count > 0 && (isFirst ? ', after those without a section.' : ', at the end of the section before.')}
      </p>
      {count > 0 && section.visibleIf !== null && (
        <p>
          Its condition goes with it: its questions are then asked of everybody, unless they have conditions of their
          own.
        </p>
      )}
    </ConfirmDialog>
  );
}

function staying(count: number): string {
  if (count === 0) return 'It has no questions.';
  return count === 1 ? 'Its question stays' : `Its ${count} questions stay`;
}
