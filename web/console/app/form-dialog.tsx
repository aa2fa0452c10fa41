import { type ShouldBlockFn, useBlocker, useRouter } from '@tanstack/react-router';
import { type ComponentProps, useState } from 'react';
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx';
import { focusIfLost } from '../parts/focus.ts';

interface FormDialogProps extends ComponentProps<typeof Dialog> {
  /** What its form holds, as JSON can say it: once that differs from what it held at first, it is not lost unasked. */
  fields: unknown;
  /** The form is being sent: nobody knows whether that is stored. */
  isPending?: boolean;
}

const formDialog = () => document.querySelector<HTMLElement>('[role=dialog]');

/**
 * A dialog with a form. What was entered is not lost by Escape, a press outside, the browser's Back, a way to another
 * view or a reload without a question; a button such as Cancel closes it at once.
 */
export function FormDialog({ fields, isPending = false, onClose, children, ...dialog }: FormDialogProps) {
  const router = useRouter();
  const entered = JSON.stringify(fields);
  const [atFirst] = useState(entered);
  /** The question is shown; `href` is the view that the user has chosen, and gets once the form is discarded. */
  const [asked, setAsked] = useState<{ href?: string }>();
  const isChanged = entered !== atFirst;
  const { isDismissable = true } = dialog;
  const shouldBlockFn: ShouldBlockFn = ({ action, next }) => {
    const chosen = { href: next.pathname + router.options.stringifySearch(next.search) };
    if (isDismissable) setAsked(action === 'PUSH' ? chosen : {});
    return true;
  };
  useBlocker({ shouldBlockFn, enableBeforeUnload: isChanged, disabled: !isChanged });
  const discard = async () => {
    onClose();
    if (asked?.href !== undefined) await router.navigate({ href: asked.href, ignoreBlocker: true });
  };
  return (
    <Dialog {...dialog} onClose={isChanged ? () => setAsked({}) : onClose}>
      {children}
      <ConfirmDialog
        title="Discard what you have entered?"
        isOpen={asked !== undefined}
        onClose={() => {
          setAsked(undefined);
          // A press outside has taken the focus from the form.
          focusIfLost(formDialog);
        }}
        action="Discard"
        isDangerous
        onConfirm={discard}
      >
        {isPending ? 'It is being saved: the service may store it all the same.' : 'It is not saved.'}
      </ConfirmDialog>
    </Dialog>
  );
}
