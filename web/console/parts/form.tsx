import type { FormEvent, ReactNode } from 'react';
import { Button } from './button.tsx';
import { DialogActions } from './dialog.tsx';
import { FormError } from './feedback.tsx';
import styles from './form.module.css';
import { CopyButton } from './page.tsx';

/** The fields of a form below each other. */
export function Form({ onSubmit, children }: { onSubmit(event: FormEvent): unknown; children: ReactNode }) {
  return (
    <form className={styles.form} onSubmit={(event) => void onSubmit(event)} noValidate>
      {children}
    </form>
  );
}

/** Fields beside each other where there is room. */
export const FieldRow = ({ children }: { children: ReactNode }) => <div className={styles.across}>{children}</div>;

interface FormActionsProps {
  /** The words of the button that sends the form. */
  action: string;
  /** What is wrong with the form as a whole, as `useSubmit` gives it. */
  problem: string | undefined;
  isPending: boolean;
  isDangerous?: boolean;
  isDisabled?: boolean;
  onCancel(): void;
}

/** The end of a form within a dialog: what is wrong, and the buttons. */
export function FormActions({ action, problem, isPending, isDangerous, isDisabled, onCancel }: FormActionsProps) {
  return (
    <>
      {problem !== undefined && <FormError>{problem}</FormError>}
      <DialogActions>
        <Button onPress={onCancel} isDisabled={isPending}>
          Cancel
        </Button>
        <Button
          type="submit"
          look={isDangerous ? 'danger' : 'primary'}
          isPending={isPending}
          isDisabled={isDisabled ?? false}
        >
          {action}
        </Button>
      </DialogActions>
    </>
  );
}

interface SecretProps {
  label: string;
  text: string;
  onCopied?(): void;
}

/** A text that is shown once, such as a key, with a button that copies it. */
export function Secret({ label, text, onCopied }: SecretProps) {
  return (
    <div>
      <span className={styles.label}>{label}</span>
      <div className={styles.secret}>
        <code>{text}</code>
        <CopyButton text={text} onCopied={onCopied}>
          Copy
        </CopyButton>
      </div>
    </div>
  );
}
