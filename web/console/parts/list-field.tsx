import { useState } from 'react';
import { TextField, type TextFieldProps } from './text-fields.tsx';

interface ListFieldProps extends Omit<TextFieldProps, 'value' | 'onChange'> {
  value: readonly string[];
  onChange(value: string[]): void;
}

const listIn = (text: string): string[] => text.split(/[\s,]+/).filter((part) => part !== '');
const textOf = (list: readonly string[]): string => list.join(', ');

/** A list of words, separated by commas. What is typed stands there as it is typed, as long as it says the value. */
export function ListField({ value, onChange, ...props }: ListFieldProps) {
  const [typed, setTyped] = useState('');
  return (
    <TextField
      {...props}
      value={textOf(listIn(typed)) === textOf(value) ? typed : textOf(value)}
      onChange={(text) => {
        setTyped(text);
        onChange(listIn(text));
      }}
    />
  );
}
