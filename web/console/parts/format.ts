const count = new Intl.NumberFormat('en');
const decimal = new Intl.NumberFormat('en', {
  maximumFractionDigits: 2,
  maximumSignificantDigits: 3,
  roundingPriority: 'morePrecision',
});
const percent = new Intl.NumberFormat('en', { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });
const localDay = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });

export const formatCount = (value: number): string => count.format(value);
/** With at most two decimals, or three significant digits where these are more: what is not 0 is never shown as 0. */
export const formatNumber = (value: number): string => decimal.format(value);
/** A percentage (0–100) with one decimal. */
export const formatPercent = (value: number): string => `${percent.format(value)} %`;
/** A day `YYYY-MM-DD` (UTC). */
export const formatDay = (value: string): string => day.format(new Date(`${value}T00:00:00Z`));
/** The day of an instant (ISO 8601), in the time zone of the reader. */
export const formatLocalDay = (instant: string): string => localDay.format(new Date(instant));
/** An instant (ISO 8601) with its time, to the minute. */
export const formatMoment = (instant: string): string => moment.format(new Date(instant));

/** A duration as minutes and seconds, or hours and minutes. */
export function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${count.format(Math.floor(whole / 3600))} h ${Math.floor((whole % 3600) / 60)} min`;
}
