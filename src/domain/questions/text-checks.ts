import type { PlacedAnswer, ReadContext } from './contract.ts';

/** A text that comes back as it was sent: well-formed and without NUL (PostgreSQL and JSON readers refuse those). */
export function isPlainText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** The one answer of a single-answer question; reports every further one. */
export function singleAnswer(answers: readonly PlacedAnswer[], context: ReadContext): PlacedAnswer {
  for (let n = 1; n < answers.length; n += 1)
    context.report(answers[n]?.index ?? 0, '', 'this question takes one answer');
  return answers[0] as PlacedAnswer;
}

type ValueField = 'textValue' | 'numberValue' | 'optionId';

/** What the answers to a type of question may hold beside their question. */
export interface AllowedFields {
  value: readonly ValueField[];
  row?: boolean;
  rank?: boolean;
}

/** Reports value fields and places that the type has no use for. Fields are named one by one, which is quicker than to go over their names. */
export function refuseExtraFields(
  { index, answer }: PlacedAnswer,
  allowed: AllowedFields,
  context: ReadContext,
): boolean {
  const { textValue, numberValue, optionId, rowId, rank } = answer;
  let isFine = true;
  if (textValue !== undefined && !allowed.value.includes('textValue'))
    isFine = refuseValue(index, 'textValue', allowed, context);
  if (numberValue !== undefined && !allowed.value.includes('numberValue'))
    isFine = refuseValue(index, 'numberValue', allowed, context);
  if (optionId !== undefined && !allowed.value.includes('optionId'))
    isFine = refuseValue(index, 'optionId', allowed, context);
  if (rowId !== undefined && allowed.row !== true) {
    context.report(index, 'rowId', 'this question has no rows');
    isFine = false;
  }
  if (rank !== undefined && allowed.rank !== true) {
    context.report(index, 'rank', 'this question has no ranks');
    isFine = false;
  }
  return isFine;
}

function refuseValue(index: number, field: ValueField, { value }: AllowedFields, context: ReadContext): false {
  context.report(index, field, `does not fit this question: ${value.join(' or ')} does`);
  return false;
}

const local =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+)*$/u;
/** Spaces, control characters and marks of direction, which make one address look like another. */
const invisible = /[\p{C}\p{Z}]/u;
const label = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?$/u;

/** A pragmatic reading of RFC 5321 and 6531: a dot-atom, an @, and a domain of at least two labels (no IP address); at most 254 characters. */
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

/** A day of the Gregorian calendar, YYYY-MM-DD, of the years 1 to 9999: there is no year 0, and no date parameter takes one. */
export function isCalendarDay(text: string): boolean {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (!parts) return false;
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return year >= 1 && date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** HH:MM or HH:MM:SS on a 24-hour clock. */
export function isClockTime(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?$/.test(text);
}
