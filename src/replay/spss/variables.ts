import { createInput, doubleIn } from './input.ts';
import { extensionTypes, type Records } from './records.ts';
import type { Segment } from './segments.ts';
import type { TextDecode } from './text.ts';

export interface SpssVariable {
  /** Unique regardless of case; the long name where the file has one. */
  name: string;
  /** '' if there is none. */
  label: string;
  /** 0 for a number, otherwise the bytes of the text. */
  width: number;
  /** Number of the print format, such as 5 for F and 22 for DATETIME. */
  format: number;
  /** Labels by value, in the file's order. */
  labels: ReadonlyMap<number | string, string>;
  /** Whether a value is declared as missing by the file's author. */
  isUserMissing(value: number | string): boolean;
}

export function variableOf(segment: Segment, records: Records, text: TextDecode): SpssVariable {
  const { unit, width, name, firstUnit } = segment;
  const isText = width > 0;
  // PSPP fills the eight bytes of a value behind a shorter text with zero bytes, SPSS with blanks.
  const decode = (bytes: Buffer): number | string =>
    isText ? text(bytes.subarray(0, width)).trimEnd() : doubleIn(bytes, 0, records.isLittle);
  const labels = new Map<number | string, string>();
  for (const record of records.valueLabels)
    if (record.units.includes(firstUnit))
      for (const [value, label] of record.labels) labels.set(decode(value), text(label).trim());
  for (const [value, label] of longLabels(records, name, text)) labels.set(value, label);
  const missing = [...unit.missing.map(decode), ...longMissing(records, name, text)];
  return {
    name,
    width,
    labels,
    label: text(unit.label).trim(),
    format: unit.format,
    isUserMissing: isMissingIn(missing, unit.hasMissingRange),
  };
}

/** Whether a value is among the missing ones; of a range, the first two are its ends. */
function isMissingIn(missing: readonly (number | string)[], hasRange: boolean): SpssVariable['isUserMissing'] {
  const [low, high] = missing;
  const single = new Set(hasRange ? missing.slice(2) : missing);
  const isInRange = (value: number | string): boolean =>
    hasRange && low !== undefined && high !== undefined && value >= low && value <= high;
  return (value) => single.has(value) || isInRange(value);
}

/** The labels of values of texts over eight bytes. */
function longLabels(records: Records, name: string, text: TextDecode): [value: string, label: string][] {
  const found: [string, string][] = [];
  for (const bytes of records.extensions.get(extensionTypes.longLabels) ?? []) {
    const input = createInput(bytes);
    input.isLittle = records.isLittle;
    while (input.position < bytes.length) {
      const isOwn = text(input.bytes(input.int())).toUpperCase() === name.toUpperCase();
      input.int();
      for (let count = input.int(); count > 0; count -= 1) {
        const value = text(input.bytes(input.int())).trimEnd();
        const label = text(input.bytes(input.int())).trim();
        if (isOwn) found.push([value, label]);
      }
    }
  }
  return found;
}

/** The missing values of texts over eight bytes: their first eight bytes. */
function longMissing(records: Records, name: string, text: TextDecode): string[] {
  const found: string[] = [];
  for (const bytes of records.extensions.get(extensionTypes.longMissing) ?? []) {
    const input = createInput(bytes);
    input.isLittle = records.isLittle;
    while (input.position < bytes.length) {
      const isOwn = text(input.bytes(input.int())).toUpperCase() === name.toUpperCase();
      const count = input.bytes(1)[0] ?? 0;
      const width = input.int();
      const values = Array.from({ length: count }, () => text(input.bytes(width)).trimEnd());
      if (isOwn) found.push(...values);
    }
  }
  return found;
}
