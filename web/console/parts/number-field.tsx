import { Minus, Plus } from 'lucide-react';
import { useContext, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Group } from 'react-aria-components/Group';
import { Input } from 'react-aria-components/Input';
import { Label } from 'react-aria-components/Label';
import { NumberField as AriaNumberField, NumberFieldStateContext } from 'react-aria-components/NumberField';
import { everyDigit } from '../../shared/every-digit.ts';
import styles from './field.module.css';
import { FieldNotes, type FieldProps, labelClass } from './field.tsx';

export interface NumberFieldProps extends FieldProps {
  /** Null: empty. */
  value: number | null;
  /** Called at every key after which the field holds a number that it takes, or nothing, and when it is left. */
  onChange(value: number | null): void;
  minValue?: number;
  maxValue?: number;
  step?: number;
  isDisabled?: boolean;
}

/** A field from the first key until it is left. */
interface Typing {
  /** The value before. The field is given no other one meanwhile: it would be written over what is typed. */
  before: number | null;
  reported: number | null;
}

/** Every digit, and nothing else but a point and a sign. */
const exactly = { ...everyDigit, useGrouping: false };

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
  const [typing, setTyping] = useState<Typing>();
  /** Whether the next new value comes of what was just reported, though it need not be the same number. */
  const isOwn = useRef(false);
  const onTyped = (typed: number | null) => {
    if (!typing) return;
    // What is no number, or will be moved to the nearest one that the field takes, counts when the field is left.
    const next = typed === null || isTaken(typed, props) ? typed : typing.before;
    if (next === typing.reported) return;
    setTyping({ ...typing, reported: next });
    isOwn.current = true;
    onChange(next);
  };
  const onNewValue = useEffectEvent(() => {
    // Somebody else's is shown at once, lest it be typed over unseen.
    if (!isOwn.current && value !== typing?.reported) setTyping(undefined);
    isOwn.current = false;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is for new values only.
  useLayoutEffect(() => onNewValue(), [value]);
  const onLeft = (left: number) => {
    const next = Number.isNaN(left) ? null : left;
    setTyping(undefined);
    if (!typing || next !== typing.reported) onChange(next);
  };
  return (
    <AriaNumberField
      {...props}
      formatOptions={exactly}
      value={(typing ? typing.before : value) ?? Number.NaN}
      onChange={onLeft}
      onBlur={() => setTyping(undefined)}
      className={styles.field}
      isInvalid={error !== undefined}
      validationBehavior="aria"
    >
      <Label className={labelClass(isLabelHidden)}>{label}</Label>
      <Group className={styles.group}>
        <TypedInput onInput={() => setTyping((now) => now ?? { before: value, reported: value })} onTyped={onTyped} />
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

function isTaken(number: number, limits: Pick<NumberFieldProps, 'minValue' | 'maxValue' | 'step'>): boolean {
  const { minValue = -Infinity, maxValue = Infinity, step } = limits;
  const isOnStep = step === undefined || Number.isInteger((number - (limits.minValue ?? 0)) / step);
  return number >= minValue && number <= maxValue && isOnStep;
}

interface TypedInputProps {
  onInput(): void;
  /** Called with the number that the text has become, NaN for none; null: it is empty. */
  onTyped(number: number | null): void;
}

function TypedInput({ onInput, onTyped }: TypedInputProps) {
  const { inputValue = '', numberValue = Number.NaN } = useContext(NumberFieldStateContext) ?? {};
  const report = useEffectEvent(() => onTyped(inputValue === '' ? null : numberValue));
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is reported whenever the text has changed.
  useEffect(() => report(), [inputValue]);
  return <Input ref={typePoints} className={styles.input} onInput={onInput} />;
}
