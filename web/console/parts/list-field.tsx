import { TextField, type TextFieldProps } from './text-fields.tsx';
import { useTyped } from './use-typed.ts';

interface ListFieldProps extends Omit<TextFieldProps, 'value' | 'onChange'> {
  value: readonly string[];
  onChange(value: string[]): void;
}

export const listIn = (text: string): string[] => text.split(/[\s,]+/).filter((part) => part !== '');
const textOf = (list: readonly string[]): string => list.join(', ');

/** A list of words, separated by commas. */
export function ListField({ value, onChange, ...props }: ListFieldProps) {
  const [shown, keepTyped] = useTyped(textOf(value), (typed) => textOf(listIn(typed)) === textOf(value));
  return (
    <TextField
      {...props}
      value={shown}
      onChange={(text) => {
        keepTyped(text);
        onChange(listIn(text));
      }}
    />
  );
}
