/** A day, a time or a time with an offset, as PostgreSQL writes them with the DateStyle ISO. */
const timeText =
  /^(\d{4,6})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?)?)?( BC)?$/;

/**
 * The moment of a date, timestamp or timestamptz of PostgreSQL, to the millisecond; without an offset it is one of UTC.
 * `new Date(text)` would read years below 100, and the order of days and months in another DateStyle, by guessing.
 * Throws for anything else, such as `infinity`, as no Date holds it.
 */
export function parseTime(text: string): Date {
  const parts = timeText.exec(text);
  if (!parts) throw new Error(`PostgreSQL sent a time that cannot be read: ${text}`);
  const [, year, month, day, hours, minutes, seconds, fraction = '', sign] = parts;
  const isBeforeChrist = parts[12] !== undefined;
  const moment = new Date(0);
  // Date.UTC would take a year below 100 for one of the 20th century.
  moment.setUTCFullYear(isBeforeChrist ? 1 - Number(year) : Number(year), Number(month) - 1, Number(day));
  moment.setUTCHours(
    Number(hours ?? 0),
    Number(minutes ?? 0),
    Number(seconds ?? 0),
    Number(fraction.padEnd(3, '0').slice(0, 3)),
  );
  const offsetSeconds = Number(parts[9] ?? 0) * 3600 + Number(parts[10] ?? 0) * 60 + Number(parts[11] ?? 0);
  return new Date(moment.getTime() - (sign === '-' ? -1 : 1) * offsetSeconds * 1000);
}

/** The types that are read by other rules than those of postgres.js. No bigint exceeds 2^53. */
export const valueTypes = {
  bigint: { to: 20, from: [20], serialize: (value: number) => String(value), parse: Number },
  /** The types date, timestamp and timestamptz. */
  time: {
    to: 1184,
    from: [1082, 1114, 1184],
    serialize: (value: Date | string) => new Date(value).toISOString(),
    parse: parseTime,
  },
};
