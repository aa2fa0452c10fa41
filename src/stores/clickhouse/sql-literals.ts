import { notFound } from '../../errors.ts';
import { uuid } from '../../platform/ids.ts';

const uuidPattern = new RegExp(`^${uuid}$`, 'i');

/** An id in a statement. What is not a UUID names nothing: NOT_FOUND. */
export function sqlUuid(id: string): string {
  if (!uuidPattern.test(id)) throw notFound();
  return `toUUID('${id}')`;
}

export function isUuid(id: string): boolean {
  return uuidPattern.test(id);
}

/** A moment in a statement, to the millisecond. */
export function sqlMoment(moment: Date | number): string {
  return `fromUnixTimestamp64Milli(toInt64(${sqlInteger(moment instanceof Date ? moment.getTime() : moment)}), 'UTC')`;
}

export function sqlInteger(value: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number`);
  return String(value);
}

/** A finite double, exactly. */
export function sqlDouble(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`${value} is not a finite number`);
  return `toFloat64(${value})`;
}

/**
 * Finite doubles as one array, exactly; a list of plain literals is planned at once, where a conversion of each is not.
 */
export function sqlDoubleArray(values: readonly number[]): string {
  const literals = values.map((value) => {
    if (!Number.isFinite(value)) throw new RangeError(`${value} is not a finite number`);
    return /[.e]/.test(String(value)) ? String(value) : `${value}.0`;
  });
  return `[${literals.join(', ')}]`;
}

export function sqlString(value: string): string {
  return `'${value.replace(/[\\']/g, '\\$&').replaceAll('\0', '\\0')}'`;
}

/** The name of a database, a table or a column. */
export function sqlName(value: string): string {
  return `\`${value.replace(/[\\`]/g, '\\$&')}\``;
}
