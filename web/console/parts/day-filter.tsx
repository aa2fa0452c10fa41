import { useState } from 'react';
import { DateField } from './text-fields.tsx';

interface DayFilterProps {
  label: string;
  /** The day that the address names, such as `2026-01-31`; empty: none. */
  value: string;
  onChange(day: string): void;
  min?: string;
  /** Without one, years have four digits. */
  max?: string | undefined;
}

/** Whether only the first digits of a year are typed: the browser fills it up with zeros. */
const isYearBegun = (day: string): boolean => day.startsWith('0');

/**
 * A day that the address names. The address follows a key a moment later, and a value that comes back meanwhile would
 * end the typing, so the field keeps what is typed until the address names it.
 */
export function DayFilter({ value, onChange, max = '9999-12-31', ...props }: DayFilterProps) {
  const [typed, setTyped] = useState<string>();
  if (typed === value) setTyped(undefined);
  const type = (day: string) => {
    setTyped(day);
    if (!isYearBegun(day)) onChange(day);
  };
  const leave = () => {
    if (typed !== undefined && isYearBegun(typed)) onChange(typed);
    setTyped(undefined);
  };
  return <DateField {...props} value={typed ?? value} onChange={type} onBlur={leave} max={max} />;
}
