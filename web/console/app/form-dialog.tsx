import { type ComponentProps, useState } from 'react';
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx';
import { focusIfLost } from '../parts/focus.ts';
import { useShownOnce } from './shown-once.ts';

interface FormDialogProps extends ComponentProps<typeof Dialog> {
  /** What its form holds, as JSON can say it: once that differs from what it held at first, it is not lost unasked. */
  fields: unknown;
}

const formDialog = () => document.querySelector<HTMLElement>('[role=dialog]');

/**
 * A dialog with a form. What was entered is not lost by Escape, a press outside, the browser's Back or a reload without
 * a question; a button such as Cancel closes it at once.
 */
export function FormDialog({ fields, onClose, children, ...dialog }: FormDialogProps) {
  const entered = JSON.stringify(fields);
  const [atFirst] = useState(entered);
  const [isAsking, setAsking] = useState(false);
  const isChanged = entered !== atFirst;
  useShownOnce(isChanged);
  return (
    <Dialog {...dialog} onClose={isChanged ? () => setAsking(true) : onClose}>
      {children}
      <ConfirmDialog
        title="Discard what you have entered?"
        isOpen={isAsking}
        onClose={() => {
          setAsking(false);
          // A press outside has taken the focus from the form.
          focusIfLost(formDialog);
        }}
        action="Discard"
        isDangerous
        onConfirm={async () => onClose()}
      >
        It is not saved.
      </ConfirmDialog>
    </Dialog>
  );
}
