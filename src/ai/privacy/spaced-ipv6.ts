import { isIPv6 } from 'node:net';
import type { Finder, Span } from './spans.ts';

const group = '[0-9a-f]{1,4}(?!\\w)';
const run = new RegExp(`(?<!\\w)${group}(?:\\s?:\\s?(?::\\s?)?${group})+`, 'gi');
const eachGroup = new RegExp(group, 'gi');
const maxGroups = 8;

/** IPv6 addresses with spaces around their colons: whole, or shortened once. What stands before or behind a colon of theirs, and may be a group too, goes with them. */
export const findSpacedIpv6: Finder = (text) => {
  const found: Span[] = [];
  for (const { 0: match, index } of text.matchAll(run)) {
    if (!/\s/.test(match)) continue;
    const groups = [...match.matchAll(eachGroup)].map((one) => ({ start: one.index, end: one.index + one[0].length }));
    for (const [first, { start }] of groups.entries()) {
      // From the longest on.
      const end = groups
        .slice(first + 1, first + maxGroups)
        .map((last) => last.end)
        .findLast((last) => isAddress(match.slice(start, last)));
      if (end !== undefined) found.push({ kind: 'IP', start: index + start, end: index + end });
    }
  }
  return found;
};

/** Points of time and lists of numbers have no letters, and words between colons are few. */
function isAddress(text: string): boolean {
  const compact = text.replace(/\s/g, '');
  if (compact === text || !isIPv6(compact) || !/[a-f]/i.test(compact)) return false;
  const digits = compact.replace(/\D/g, '').length;
  const [head = '', rest = ''] = compact.split('::');
  if (!compact.includes('::')) return digits >= 7;
  return digits >= 3 && (compact.split(/:+/).length > 2 || isNetwork(head, rest));
}

/** Of two groups the first is that of a network that is given out, or of none beyond its own: "Cafe :: 2024" has the form of an address too. */
const isNetwork = (first: string, second: string): boolean =>
  /^(?:[23][\da-f]{3}|f[cde][\da-f]{2}|64)$/i.test(first) && [first, second].every((one) => /\d/.test(one));
