import { useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { CheckboxGroup } from '../../parts/choice-fields.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';

/** The address names the columns, and a service refuses one that is longer than 16 KB. */
const mostColumns = 100;

interface ColumnsDialogProps {
  columns: readonly { id: string; title: string }[];
  shown: readonly string[];
  onClose(): void;
  /** The columns in their order; undefined: none was chosen. */
  onChoose(columns: string[] | undefined): void;
}

/** Chooses the columns of the table. They are shown when the dialog is closed, which is one step for Back. */
export function ColumnsDialog({ columns, shown, onClose, onChoose }: ColumnsDialogProps) {
  // The screen may give another array of the same columns while the dialog is open.
  const [shownBefore] = useState(shown);
  const [chosen, setChosen] = useState(shownBefore);
  const close = () => {
    onClose();
    if (chosen !== shownBefore) onChoose(chosen.length > 0 ? [...chosen] : undefined);
  };
  return (
    <Dialog title="Columns" isOpen onClose={close}>
      <CheckboxGroup
        label="Shown"
        hint={`At most ${mostColumns}. None: those of the beginning.`}
        options={columns.map(({ id, title }) => ({
          value: id,
          label: title,
          isDisabled: chosen.length >= mostColumns && !chosen.includes(id),
        }))}
        value={chosen}
        onChange={setChosen}
      />
      <DialogActions>
        <Button look="primary" onPress={close}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
