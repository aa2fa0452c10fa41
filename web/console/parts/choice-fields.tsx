import { Check, ChevronDown, Minus } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from 'react-aria-components/Button';
import { Checkbox as AriaCheckbox } from 'react-aria-components/Checkbox';
import { CheckboxGroup as AriaCheckboxGroup } from 'react-aria-components/CheckboxGroup';
import { ComboBox as AriaComboBox } from 'react-aria-components/ComboBox';
import { Input } from 'react-aria-components/Input';
import { Label } from 'react-aria-components/Label';
import { ListBox, ListBoxItem } from 'react-aria-components/ListBox';
import { Popover } from 'react-aria-components/Popover';
import { RadioGroup as AriaRadioGroup, Radio } from 'react-aria-components/RadioGroup';
import { Select as AriaSelect, SelectValue } from 'react-aria-components/Select';
import { Switch as AriaSwitch } from 'react-aria-components/Switch';
import { cx } from './cx.ts';
import styles from './field.module.css';
import { FieldNotes, type FieldProps, labelClass } from './field.tsx';
import overlay from './overlay.module.css';

/** One thing to choose. `note` stands below the label in lists of radio buttons and checkboxes. */
export interface Option<Value extends string = string> {
  value: Value;
  label: string;
  note?: ReactNode;
  isDisabled?: boolean;
}

interface ToggleProps {
  isSelected: boolean;
  onChange(isSelected: boolean): void;
  isDisabled?: boolean;
  /** For screen readers, where `children` does not say it. */
  'aria-label'?: string;
  children?: ReactNode;
}

/** On or off, as a part of a form that is saved later. */
export function Checkbox({ children, ...props }: ToggleProps & { isIndeterminate?: boolean }) {
  return (
    <AriaCheckbox {...props} className={styles.row}>
      {({ isSelected, isIndeterminate }) => (
        <>
          <span className={styles.box}>
            {isIndeterminate ? <Minus aria-hidden /> : isSelected && <Check aria-hidden />}
          </span>
          {children}
        </>
      )}
    </AriaCheckbox>
  );
}

/** On or off, in effect at once. */
export function Switch({ children, ...props }: ToggleProps) {
  return (
    <AriaSwitch {...props} className={styles.row}>
      <span className={styles.track} />
      {children}
    </AriaSwitch>
  );
}

interface OptionsProps<Value extends string> extends FieldProps {
  options: readonly Option<Value>[];
  isDisabled?: boolean;
}

const optionText = ({ label, note }: Option) => (
  <span>
    {label}
    {note !== undefined && <span className={cx(styles.hint, styles.field)}>{note}</span>}
  </span>
);

/** Several of a few options. */
export function CheckboxGroup<Value extends string>({
  label,
  isLabelHidden,
  hint,
  error,
  options,
  value,
  onChange,
  ...props
}: OptionsProps<Value> & { value: readonly Value[]; onChange(value: Value[]): void }) {
  return (
    <AriaCheckboxGroup
      {...props}
      value={[...value]}
      onChange={(next) => onChange(next as Value[])}
      className={styles.field}
      isInvalid={error !== undefined}
      validationBehavior="aria"
    >
      <Label className={labelClass(isLabelHidden)}>{label}</Label>
      <div className={styles.choices}>
        {options.map((option) => (
          <AriaCheckbox
            key={option.value}
            value={option.value}
            isDisabled={option.isDisabled ?? false}
            className={styles.row}
          >
            {({ isSelected }) => (
              <>
                <span className={styles.box}>{isSelected && <Check aria-hidden />}</span>
                {optionText(option)}
              </>
            )}
          </AriaCheckbox>
        ))}
      </div>
      <FieldNotes hint={hint} error={error} />
    </AriaCheckboxGroup>
  );
}

/** One of a few options, all in sight. */
export function RadioGroup<Value extends string>({
  label,
  isLabelHidden,
  hint,
  error,
  options,
  value,
  onChange,
  isAcross,
  ...props
}: OptionsProps<Value> & { value: Value | null; onChange(value: Value): void; isAcross?: boolean }) {
  return (
    <AriaRadioGroup
      {...props}
      value={value}
      onChange={(next) => onChange(next as Value)}
      orientation={isAcross ? 'horizontal' : 'vertical'}
      className={styles.field}
      isInvalid={error !== undefined}
      validationBehavior="aria"
    >
      <Label className={labelClass(isLabelHidden)}>{label}</Label>
      <div className={cx(styles.choices, isAcross && styles.across)}>
        {options.map((option) => (
          <Radio key={option.value} value={option.value} isDisabled={option.isDisabled ?? false} className={styles.row}>
            <span className={styles.dot} />
            {optionText(option)}
          </Radio>
        ))}
      </div>
      <FieldNotes hint={hint} error={error} />
    </AriaRadioGroup>
  );
}

const listItems = (options: readonly Option[]) =>
  options.map(({ value, label, isDisabled }) => (
    <ListBoxItem key={value} id={value} textValue={label} isDisabled={isDisabled ?? false} className={overlay.item}>
      {label}
    </ListBoxItem>
  ));

/** One of a list that opens. */
export function Select<Value extends string>({
  label,
  isLabelHidden,
  hint,
  error,
  options,
  value,
  onChange,
  ...props
}: OptionsProps<Value> & { value: Value | null; onChange(value: Value): void }) {
  return (
    <AriaSelect
      {...props}
      value={value}
      onChange={(next) => {
        if (next !== null) onChange(String(next) as Value);
      }}
      placeholder="Choose …"
      className={styles.field}
      isInvalid={error !== undefined}
      validationBehavior="aria"
    >
      <Label className={labelClass(isLabelHidden)}>{label}</Label>
      <Button className={cx(styles.input, styles.select)}>
        <SelectValue />
        <ChevronDown aria-hidden />
      </Button>
      <FieldNotes hint={hint} error={error} />
      <Popover className={overlay.popover}>
        <ListBox className={overlay.list}>{listItems(options)}</ListBox>
      </Popover>
    </AriaSelect>
  );
}

/** One of a long list, found by typing. */
export function ComboBox<Value extends string>({
  label,
  isLabelHidden,
  hint,
  error,
  options,
  value,
  onChange,
  placeholder,
  ...props
}: OptionsProps<Value> & {
  value: Value | null;
  onChange(value: Value | null): void;
  onInputChange?(text: string): void;
  placeholder?: string;
  autoFocus?: boolean;
}) {
  return (
    <AriaComboBox
      {...props}
      value={value}
      onChange={(next) => onChange(next === null ? null : (String(next) as Value))}
      menuTrigger="focus"
      // A list that is searched elsewhere stays open until its reply is there.
      allowsEmptyCollection={props.onInputChange !== undefined}
      className={styles.field}
      isInvalid={error !== undefined}
      validationBehavior="aria"
    >
      <Label className={labelClass(isLabelHidden)}>{label}</Label>
      <div className={cx(styles.group, styles.combo)}>
        <Input className={styles.input} placeholder={placeholder} />
        <Button className={styles.inner}>
          <ChevronDown aria-hidden />
        </Button>
      </div>
      <FieldNotes hint={hint} error={error} />
      <Popover className={overlay.popover}>
        <ListBox className={overlay.list} renderEmptyState={() => <div className={overlay.item}>Nothing fits</div>}>
          {listItems(options)}
        </ListBox>
      </Popover>
    </AriaComboBox>
  );
}
