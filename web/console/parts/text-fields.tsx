import { Search, X } from 'lucide-react';
import { type Ref, useId } from 'react';
import { Button } from 'react-aria-components/Button';
import { Input } from 'react-aria-components/Input';
import { Label } from 'react-aria-components/Label';
import { SearchField as AriaSearchField } from 'react-aria-components/SearchField';
import { TextArea as AriaTextArea } from 'react-aria-components/TextArea';
import { TextField as AriaTextField } from 'react-aria-components/TextField';
import { cx } from './cx.ts';
import styles from './field.module.css';
import { FieldNotes, type FieldProps, labelClass } from './field.tsx';

export { NumberField, type NumberFieldProps } from './number-field.tsx';

export interface TextFieldProps extends FieldProps {
  value: string;
  onChange(value: string): void;
  onBlur?(): void;
  name?: string;
  type?: 'text' | 'email' | 'password' | 'url';
  autoComplete?: string;
  autoFocus?: boolean;
  placeholder?: string;
  maxLength?: number;
  isRequired?: boolean;
  isDisabled?: boolean;
  isReadOnly?: boolean;
  /** The field is written as its text is, from left to right or from right to left; without it, as the page is. */
  dir?: 'auto' | undefined;
  inputRef?: Ref<HTMLInputElement>;
}

/** One line of text. */
export function TextField({ label, isLabelHidden, hint, error, placeholder, dir, inputRef, ...props }: TextFieldProps) {
  return (
    <AriaTextField {...props} className={styles.field} isInvalid={error !== undefined} validationBehavior="aria">
      <Label className={labelClass(isLabelHidden)}>{label}</Label>
      <Input ref={inputRef} className={styles.input} placeholder={placeholder} dir={dir} />
      <FieldNotes hint={hint} error={error} />
    </AriaTextField>
  );
}

interface TextAreaProps extends Omit<TextFieldProps, 'type' | 'inputRef' | 'autoComplete'> {
  rows?: number;
}

/** Several lines of text. */
export function TextArea({ label, isLabelHidden, hint, error, placeholder, dir, rows = 3, ...props }: TextAreaProps) {
  return (
    <AriaTextField {...props} className={styles.field} isInvalid={error !== undefined} validationBehavior="aria">
      <Label className={labelClass(isLabelHidden)}>{label}</Label>
      <AriaTextArea className={styles.input} rows={rows} placeholder={placeholder} dir={dir} />
      <FieldNotes hint={hint} error={error} />
    </AriaTextField>
  );
}

interface SearchFieldProps {
  label: string;
  value: string;
  onChange(value: string): void;
  autoFocus?: boolean;
}

/** A search field; Escape empties it. */
export function SearchField({ label, ...props }: SearchFieldProps) {
  return (
    <AriaSearchField {...props} aria-label={label} className={cx(styles.group, styles.search)}>
      <Search className={styles.lead} aria-hidden />
      <Input className={styles.input} placeholder={label} />
      <Button className={styles.inner}>
        <X aria-hidden />
      </Button>
    </AriaSearchField>
  );
}

interface DateFieldProps extends FieldProps {
  /** As an input holds it: `2026-01-31`, with a time `2026-01-31T08:00`; empty: none. */
  value: string;
  onChange(value: string): void;
  onBlur?(): void;
  hasTime?: boolean;
  min?: string;
  max?: string;
  isDisabled?: boolean;
}

/** The browser's own date field. A time is one of the reader's time zone; of a day, the label says which it is. */
export function DateField(props: DateFieldProps) {
  const { label, isLabelHidden, hint, error, value, onChange, hasTime, isDisabled, ...native } = props;
  const id = useId();
  const hasNotes = hint !== undefined || error !== undefined;
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={labelClass(isLabelHidden)}>
        {label}
      </label>
      <input
        {...native}
        id={id}
        type={hasTime ? 'datetime-local' : 'date'}
        className={styles.input}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        disabled={isDisabled}
        aria-invalid={error !== undefined}
        aria-describedby={hasNotes ? `${id}-notes` : undefined}
      />
      {hasNotes && (
        <span id={`${id}-notes`}>
          {hint !== undefined && <span className={styles.hint}>{hint}</span>}
          {error !== undefined && <span className={styles.error}>{error}</span>}
        </span>
      )}
    </div>
  );
}
