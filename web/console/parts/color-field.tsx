import { RotateCcw } from 'lucide-react';
import { IconButton } from './button.tsx';
import styles from './color-field.module.css';
import type { FieldProps } from './field.tsx';
import { TextField } from './text-fields.tsx';

interface ColorFieldProps extends FieldProps {
  /** `#rrggbb`, or what is being typed; null: the colour of `initial`. */
  value: string | null;
  onChange(value: string | null): void;
  /** Shown while there is no value. */
  initial: string;
  isDisabled?: boolean;
}

export const isColor = (text: string): boolean => /^#[0-9a-f]{6}$/i.test(text);

/** A colour, typed or picked with the browser's own picker. */
export function ColorField({ label, hint, error, value, onChange, initial, isDisabled = false }: ColorFieldProps) {
  return (
    <div className={styles.row}>
      <input
        type="color"
        className={styles.swatch}
        aria-label={`Pick: ${label}`}
        value={value !== null && isColor(value) ? value : initial}
        onChange={(event) => onChange(event.target.value)}
        disabled={isDisabled}
      />
      <div className={styles.text}>
        <TextField
          label={label}
          hint={hint}
          error={error}
          value={value ?? ''}
          onChange={(text) => onChange(text === '' ? null : text)}
          placeholder={initial}
          maxLength={7}
          isDisabled={isDisabled}
        />
      </div>
      {value !== null && !isDisabled && (
        <IconButton label={`Reset: ${label}`} icon={<RotateCcw aria-hidden />} onPress={() => onChange(null)} />
      )}
    </div>
  );
}
