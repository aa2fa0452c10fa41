/**
 * Unix milliseconds of an HTTP date; NaN for other texts. Every HTTP date is in GMT, which the form of asctime
 * (`Sun Nov  6 08:49:37 1994`, RFC 9110 §5.6.7) does not say: `Date.parse` would take it for local time.
 */
export function httpDateMs(text: string): number {
  const hasZone = /[a-z]$|[+-]\d\d:?\d\d$/i.test(text);
  return Date.parse(hasZone ? text : `${text} GMT`);
}
