import type { ReactNode } from 'react';
import { FieldError } from 'react-aria-components/FieldError';
import { Text } from 'react-aria-components/Text';
import styles from './field.module.css';

/** What every field has: a label, a hint below it, and what is wrong with it. */
export interface FieldProps {
  label: string;
  /** The label is read out but not shown, where the place explains the field. */
  isLabelHidden?: boolean;
  hint?: ReactNode;
  /** What is wrong, from the service or from a check of the form; it also marks the field as invalid. */
  error?: string | undefined;
}

export const labelClass = (isHidden: boolean | undefined) => (isHidden ? 'visually-hidden' : styles.label);

/** Hint and error of a React Aria field. */
export function FieldNotes({ hint, error }: Pick<FieldProps, 'hint' | 'error'>) {
  return (
    <>
      {hint !== undefined && (
        <Text slot="description" className={styles.hint}>
          {hint}
        </Text>
      )}
      <FieldError className={styles.error}>{error}</FieldError>
    </>
  );
}
