/** Maximum characters of the free text of "other". */
export const maxOtherLength = 500;

/** Whether a text can be stored unchanged: well-formed UTF-16 without NUL (PostgreSQL and JSON parsers reject both). */
export function isPlainText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** Message for a text that cannot be stored unchanged. */
export const notPlainText = 'holds a lone surrogate or a NUL character';

const local =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+)*$/u;
/** Spaces, control characters and direction marks, which can make two addresses look the same. */
const invisible = /[\p{C}\p{Z}]/u;
const label = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?$/u;

/**
 * Checks an e-mail answer by a subset of RFC 5321 and 6531: a dot-atom, @, and a domain of at least two labels (no IP
 * address); at most 254 characters. Stricter than auth's `isEmail`, which also allows local accounts such as
 * `admin@localhost`.
 */
export function isEmailAddress(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at < 1 || at > 64 || text.length > 254) return false;
  const labels = text.slice(at + 1).split('.');
  const isNamed = labels.length >= 2 && !/^\d+$/.test(labels.at(-1) ?? '');
  return (
    isNamed &&
    labels.every((part) => part.length <= 63 && label.test(part)) &&
    local.test(text.slice(0, at)) &&
    !invisible.test(text)
  );
}

/**
 * Whether a text is a Gregorian date, YYYY-MM-DD, in the years 1 to 9999 (PostgreSQL and ISO parameters have no year
 * 0).
 */
export function isCalendarDay(text: string): boolean {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (!parts) return false;
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return year >= 1 && date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** Whether a text is HH:MM or HH:MM:SS on a 24-hour clock. */
export function isClockTime(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?$/.test(text);
}
