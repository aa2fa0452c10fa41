import { notFound } from '../../../errors.ts';

const uuidForm = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** An id in a statement. What is not a UUID names nothing: NOT_FOUND. */
export function uuid(id: string): string {
  if (!uuidForm.test(id)) throw notFound();
  return `toUUID('${id}')`;
}

export function isUuid(id: string): boolean {
  return uuidForm.test(id);
}

/** A moment in a statement, to the millisecond. */
export function instant(moment: Date | number): string {
  return `fromUnixTimestamp64Milli(toInt64(${whole(moment instanceof Date ? moment.getTime() : moment)}), 'UTC')`;
}

export function whole(value: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number`);
  return String(value);
}

/** A finite double, exactly. */
export function double(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`${value} is not a finite number`);
  return `toFloat64(${value})`;
}

/** Finite doubles as one array, exactly; a list of plain literals is planned at once, where a conversion of each is not. */
export function doubles(values: readonly number[]): string {
  const literals = values.map((value) => {
    if (!Number.isFinite(value)) throw new RangeError(`${value} is not a finite number`);
    return /[.e]/.test(String(value)) ? String(value) : `${value}.0`;
  });
  return `[${literals.join(', ')}]`;
}

export function text(value: string): string {
  return `'${value.replace(/[\\']/g, '\\$&').replaceAll('\0', '\\0')}'`;
}

/** The name of a database, a table or a column. */
export function name(value: string): string {
  return `\`${value.replace(/[\\`]/g, '\\$&')}\``;
}
