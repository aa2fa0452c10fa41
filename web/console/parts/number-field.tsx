import { Minus, Plus } from 'lucide-react';
import { Button } from 'react-aria-components/Button';
import { Group } from 'react-aria-components/Group';
import { Input } from 'react-aria-components/Input';
import { Label } from 'react-aria-components/Label';
import { NumberField as AriaNumberField } from 'react-aria-components/NumberField';
import styles from './field.module.css';
import { FieldNotes, type FieldProps, labelClass } from './field.tsx';

export interface NumberFieldProps extends FieldProps {
  /** Null: empty. */
  value: number | null;
  onChange(value: number | null): void;
  minValue?: number;
  maxValue?: number;
  step?: number;
  name?: string;
  isRequired?: boolean;
  isDisabled?: boolean;
}

/** Every digit that a number can have, where the default rounds to three, and nothing else but a point and a sign. */
const exactly = { maximumFractionDigits: 20, useGrouping: false };

/** Types a point for a comma, which is the decimal sign of many keyboards, and would change the number unseen. */
function typePoints(input: HTMLInputElement | null) {
  if (!input) return;
  const onBeforeInput = (event: InputEvent) => {
    if (event.data !== ',') return;
    event.preventDefault();
    input.setRangeText('.', input.selectionStart ?? 0, input.selectionEnd ?? 0, 'end');
    input.dispatchEvent(new InputEvent('input', { bubbles: true }));
  };
  input.addEventListener('beforeinput', onBeforeInput);
  return () => input.removeEventListener('beforeinput', onBeforeInput);
}

/** A number with buttons for one step down and up. */
export function NumberField({ label, isLabelHidden, hint, error, value, onChange, ...props }: NumberFieldProps) {
  return (
    <AriaNumberField
      {...props}
      formatOptions={exactly}
      value={value ?? Number.NaN}
      onChange={(next) => onChange(Number.isNaN(next) ? null : next)}
      className={styles.field}
      isInvalid={error !== undefined}
      validationBehavior="aria"
    >
      <Label className={labelClass(isLabelHidden)}>{label}</Label>
      <Group className={styles.group}>
        <Input ref={typePoints} className={styles.input} />
        <Button slot="decrement" className={styles.inner}>
          <Minus aria-hidden />
        </Button>
        <Button slot="increment" className={styles.inner}>
          <Plus aria-hidden />
        </Button>
      </Group>
      <FieldNotes hint={hint} error={error} />
    </AriaNumberField>
  );
}
