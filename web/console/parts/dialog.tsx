import { type MouseEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Dialog as AriaDialog } from 'react-aria-components/Dialog';
import { Heading } from 'react-aria-components/Heading';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import { problemText } from '../data/problems.ts';
import { Button } from './button.tsx';
import { cx } from './cx.ts';
import { FormError } from './feedback.tsx';
import { focusIfLost } from './focus.ts';
import styles from './overlay.module.css';

interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose(): void;
  isWide?: boolean;
  /** False: Escape and a press outside do not close it, as while it shows or makes what is shown once. */
  isDismissable?: boolean;
  role?: 'dialog' | 'alertdialog';
  children: ReactNode;
}

/** A dialog over the page. Escape closes it, and the focus returns to where it was. Put buttons into DialogActions. */
export function Dialog({ title, isOpen, onClose, isWide, isDismissable = true, role, children }: DialogProps) {
  const isSecondClick = useSecondClick(isOpen);
  const ignoreSecondClick = (event: MouseEvent) => {
    if (!isSecondClick()) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <ModalOverlay
      className={styles.backdrop}
      isOpen={isOpen}
      isDismissable={isDismissable}
      isKeyboardDismissDisabled={!isDismissable}
      shouldCloseOnInteractOutside={() => !isSecondClick()}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Modal className={cx(styles.modal, isWide && styles.wide)}>
        <AriaDialog className={styles.dialog} role={role} onClickCapture={ignoreSecondClick}>
          <Heading slot="title" level={2}>
            {title}
          </Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

/**
 * Whether the click that is being handled is the second of the double-click whose first has opened the dialog. On a slow
 * device it comes long after; until it has, the dialog gets no click of its own.
 */
function useSecondClick(isOpen: boolean): () => boolean {
  const isSecond = useRef(false);
  useLayoutEffect(() => {
    if (!isOpen) return;
    let hasOwnClick = false;
    isSecond.current = false;
    const note = ({ detail }: globalThis.MouseEvent) => {
      hasOwnClick ||= detail < 2;
      isSecond.current = !hasOwnClick;
    };
    // On its way down, before anything else hears of the click.
    addEventListener('click', note, true);
    return () => removeEventListener('click', note, true);
  }, [isOpen]);
  return () => isSecond.current;
}

/** The row of buttons at the end of a dialog, the main action last. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <div className={styles.actions}>{children}</div>;
}

const overdueMs = 30_000;

/** Whether something has been waited for so long that its reply may never come. */
function useIsOverdue(isPending: boolean): boolean {
  const [isOverdue, setOverdue] = useState(false);
  useEffect(() => {
    if (!isPending) return;
    const timer = setTimeout(() => setOverdue(true), overdueMs);
    return () => {
      clearTimeout(timer);
      setOverdue(false);
    };
  }, [isPending]);
  return isOverdue;
}

interface ConfirmDialogProps {
  title: string;
  isOpen: boolean;
  onClose(): void;
  /** What the button says: the action, such as “Delete the key”. */
  action: string;
  isDangerous?: boolean;
  /** Closes the dialog when it succeeds; a failure is shown in it. */
  onConfirm(): Promise<unknown>;
  /** Why the action failed before the dialog was opened, which offers to try it again. */
  failure?: unknown;
  children: ReactNode;
}

/** Asks before an action that cannot be undone. It can be left during the action only if that takes very long. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  // The menu or button that opened it may be gone.
  useEffect(() => () => focusIfLost(), []);
  const { action, isDangerous, onConfirm, failure: firstFailure, children, ...dialog } = props;
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState(firstFailure);
  const isOverdue = useIsOverdue(isPending);
  const mayLeave = !isPending || isOverdue;
  /** What is waited for; another one, or none, once the user has left the dialog. */
  const attempt = useRef<object>(undefined);
  const leave = () => {
    attempt.current = undefined;
    setPending(false);
    dialog.onClose();
  };
  const confirm = async () => {
    const own = {};
    attempt.current = own;
    const isAwaited = () => attempt.current === own;
    setPending(true);
    setFailure(undefined);
    try {
      await onConfirm();
      if (isAwaited()) dialog.onClose();
    } catch (error) {
      if (isAwaited()) setFailure(error);
    } finally {
      if (isAwaited()) setPending(false);
    }
  };
  return (
    <Dialog {...dialog} onClose={leave} isDismissable={mayLeave} role="alertdialog">
      <div>{children}</div>
      {isOverdue && (
        <p role="status">The service has not replied so far. It may still do this if you close the dialog.</p>
      )}
      {failure !== undefined && <FormError>{problemText(failure).text}</FormError>}
      <DialogActions>
        <Button onPress={leave} isDisabled={!mayLeave}>
          {isOverdue ? 'Close' : 'Cancel'}
        </Button>
        <Button look={isDangerous ? 'danger' : 'primary'} isPending={isPending} onPress={confirm}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
