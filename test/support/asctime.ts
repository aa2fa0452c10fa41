/** A moment as `Sun Nov  6 08:49:37 1994`, the form of an HTTP date that names no time zone (RFC 9110 §5.6.7). */
export function asctimeOf(ms: number): string {
  const [weekday = '', day = '', month, year, time] = new Date(ms).toUTCString().split(' ');
  return `${weekday.slice(0, 3)} ${month} ${day.replace(/^0/, ' ')} ${time} ${year}`;
}
