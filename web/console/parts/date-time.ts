/** An ISO 8601 instant as a date field with a time holds it: in the time zone of the reader, to the minute. */
export function localDateTime(iso: string | null): string {
  if (iso === null) return '';
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The instant of such a field; null: it is empty. */
export const instantOf = (field: string): string | null => (field === '' ? null : new Date(field).toISOString());

/**
 * What is wrong with a day or time that somebody has typed: browsers take years of five digits, which are no instant, and
 * fill up those of one or two, so that 26 is a year of the first century.
 */
export const yearProblem = (field: string): string | undefined =>
  field === '' || /^(?:19|[2-9]\d)\d\d-/.test(field) ? undefined : 'Please enter a year from 1900 to 9999.';
