import { notFound } from '../../errors.ts';
import { uuid } from '../../platform/ids.ts';

const uuidPattern = new RegExp(`^${uuid}$`, 'i');

/** SQL for an id. Throws NOT_FOUND if it is no UUID. */
export function sqlUuid(id: string): string {
  if (!uuidPattern.test(id)) throw notFound();
  return `toUUID('${id}')`;
}

export function isUuid(id: string): boolean {
  return uuidPattern.test(id);
}

/** SQL for a time, to the millisecond. */
export function sqlMoment(moment: Date | number): string {
  return `fromUnixTimestamp64Milli(toInt64(${sqlInteger(moment instanceof Date ? moment.getTime() : moment)}), 'UTC')`;
}

export function sqlInteger(value: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number`);
  return String(value);
}

/** SQL for the exact value of a finite double. */
export function sqlDouble(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`${value} is not a finite number`);
  return `toFloat64(${value})`;
}

/** SQL for an array of finite doubles, as plain literals, which are planned faster than a conversion of each. */
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

/** SQL for the name of a database, table or column. */
export function sqlName(value: string): string {
  return `\`${value.replace(/[\\`]/g, '\\$&')}\``;
}
