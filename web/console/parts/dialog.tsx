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

/** Asks before an action that cannot be undone. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  // The menu or button that opened it may be gone.
  useEffect(() => () => focusIfLost(), []);
  const { action, isDangerous, onConfirm, failure: firstFailure, children, ...dialog } = props;
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState(firstFailure);
  const confirm = async () => {
    setPending(true);
    setFailure(undefined);
    try {
      await onConfirm();
      dialog.onClose();
    } catch (error) {
      setFailure(error);
    } finally {
      setPending(false);
    }
  };
  return (
    <Dialog {...dialog} isDismissable={!isPending} role="alertdialog">
      <div>{children}</div>
      {failure !== undefined && <FormError>{problemText(failure).text}</FormError>}
      <DialogActions>
        <Button onPress={dialog.onClose} isDisabled={isPending}>
          Cancel
        </Button>
        <Button look={isDangerous ? 'danger' : 'primary'} isPending={isPending} onPress={confirm}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
