import type { FormEvent, ReactNode } from 'react';
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

/** A text that is shown once, such as a key, with a button that copies it. */
export function Secret({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <span className={styles.label}>{label}</span>
      <div className={styles.secret}>
        <code>{text}</code>
        <CopyButton text={text}>Copy</CopyButton>
      </div>
    </div>
  );
}
