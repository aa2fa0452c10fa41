import type { Definition } from '../../data/questions.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Secret } from '../../parts/form.tsx';
import { fieldNames, fieldText } from './differences.ts';
import type { Draft } from './draft.ts';
import { editingOf } from './editings.ts';

/** Says that somebody else deleted what was being edited, and keeps what was typed to be copied. */
export function DeletedDialog({ survey, draft }: { survey: Definition; draft: Draft }) {
  const { kind, id, base, edits } = draft;
  const main = kind === 'section' ? 'title' : 'text';
  const fields = Object.entries({ [main]: base[main], ...edits });
  const close = () => editingOf(survey.id).discard(id);
  return (
    <Dialog
      title={`Somebody else has deleted this ${kind}`}
      role="alertdialog"
      isOpen
      isDismissable={false}
      onClose={close}
    >
      <p>What you have typed is not saved. Copy what you still need.</p>
      {fields.map(([field, value]) => (
        <Secret key={field} label={fieldNames[field] ?? field} text={fieldText(survey, field, value)} />
      ))}
      <DialogActions>
        <Button look="primary" onPress={close}>
          Close
        </Button>
      </DialogActions>
    </Dialog>
  );
}
