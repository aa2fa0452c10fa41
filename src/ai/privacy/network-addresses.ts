import { isIPv6 } from 'node:net';
import { type Finder, patternFinder, type Span } from './spans.ts';

const dot =
  '(?:\\s?\\.\\s?| ?[([{<](?:\\.|dot|punkt|punto|ponto|point|точка)[)\\]}>] ?| (?:dot|punkt|punto|ponto|point|точка) )';
const octet = '(?:25[0-5]|2[0-4]\\d|[01]?\\d?\\d)(?!\\d)';
/** A zone, a port, or the length of a network prefix. */
const behind = '(?:%[\\w.-]{1,15})?(?:\\]?:\\d{1,5}(?!\\d))?(?:/\\d{1,3}(?!\\d))?';
const findIpv4 = patternFinder(
  'IP',
  new RegExp(
    `(?<!\\d|\\d\\)|\\d\\)?\\s?\\.\\s?|[+0]\\d{1,4} (?=\\d{2,3}(?:\\.\\d{2,3}){3}))${octet}(?:${dot}${octet}){3}(?!\\s?\\.\\s?\\d)${behind}`,
    'gi',
  ),
);

const hex = '[0-9a-f]';
/** Rare spellings: hexadecimal parts, IPv6 literals of Windows, reverse DNS names. */
const rareForms = [
  new RegExp(`(?<![\\w.])0x${hex}{1,2}(?:\\.(?:0x${hex}{1,2}|\\d{1,3})){3}(?![\\w.]*\\w)`, 'gi'),
  new RegExp(
    `(?<=(?<![a-z])ip(?:v4)?(?:[ -]?add?ress?e?)?\\s?(?:is|ist|est|es|:|=)?\\s?)${hex}{1,2}(?:\\.${hex}{1,2}){3}(?![\\w.]*\\w)`,
    'gi',
  ),
  /(?<![\w.-])[0-9a-f-]{2,45}(?:s\w{1,15})?\.ipv6-literal\.net/gi,
  /(?<![\w.-])(?:(?:[0-9a-f]\.){4,32}ip6|(?:\d{1,3}\.){1,4}in-addr)\.arpa/gi,
].map((form) => patternFinder('IP', form));
/** IPv6 groups joined by hyphens; lists of marks and spelled-out letters are excluded. */
const findDashed = patternFinder(
  'IP',
  new RegExp(`(?<![\\w-])${hex}{1,4}(?:-${hex}{1,4}){7}(?![\\w-])`, 'gi'),
  (match) => /[a-f]/i.test(match) && match.replace(/\D/g, '').length >= 7,
);

const ipv6Like = /[0-9a-f:][0-9a-f:.]+/gi;
const ipv6Behind = new RegExp(behind, 'iy');

/** Finds IPv4 and IPv6 addresses. Four numbers up to 255 with dots between them always are one. */
export const findIpAddresses: Finder = (text) => {
  const found: Span[] = [];
  for (const { 0: run, index } of text.matchAll(ipv6Like)) {
    if (run.indexOf(':') === run.lastIndexOf(':')) continue;
    const span = readIpv6(text, run, index);
    if (span) found.push(span);
  }
  for (const find of [...rareForms, findDashed, findSpacedIpv6]) found.push(...find(text));
  return [
    ...found,
    ...findIpv4(text).filter(({ start, end }) => !found.some((other) => start < other.end && other.start < end)),
  ];
};

/** Reads an address from a run that may have letters of a word before it and a full stop or colon after it. */
function readIpv6(text: string, run: string, index: number): Span | undefined {
  const tail = run.replace(/(?<!:):$|\.$/, '');
  const starts = [
    0,
    ...(tail.startsWith(':') ? [1] : []),
    ...[...tail.matchAll(/:(?!:)/g)].map((colon) => colon.index + 1),
  ].slice(0, 5);
  for (const start of starts) {
    const candidate = tail.slice(start);
    if (candidate.length > 45 || !isIPv6(candidate)) continue;
    const digits = candidate.replace(/\D/g, '').length;
    // Excludes names such as "std::deque".
    const isPartOfWord = /\w/.test(text.charAt(index + start - 1)) || /\w/.test(text.charAt(index + run.length));
    if (digits === 0 || (isPartOfWord && digits < 4)) continue;
    ipv6Behind.lastIndex = index + tail.length;
    return { kind: 'IP', start: index + start, end: index + tail.length + (ipv6Behind.exec(text)?.[0].length ?? 0) };
  }
  return undefined;
}

/** Finds web addresses that contain personal data. */
export const findUrls: Finder = patternFinder(
  'URL',
  /(?<![a-z0-9+.-])(?:[a-z][a-z0-9+.-]{1,20}:\/\/[^\s<>"']+|www\.[^\s<>"']+|[a-z0-9-]+(?:\.[a-z0-9-]+)+\/[^\s<>"']*)/gi,
  hasSecret,
);

/** Profile pages of sites with user accounts. */
const profile =
  /(?:^|[/.])(?:t\.me|wa\.me|line\.me|paypal\.me|instagram\.com|facebook\.com|fb\.com|twitter\.com|x\.com|linkedin\.com|github\.com|gitlab\.com|vk\.com|ok\.ru|tiktok\.com|snapchat\.com|threads\.net|bsky\.app|reddit\.com|xing\.com|soundcloud\.com|twitch\.tv|pinterest\.com|weibo\.com|calendly\.com|linktr\.ee)\/[^/\s]|\/(?:~|u|users?|profiles?|people|in|members?)\/?[^/\s]{3}/i;

/** Whether a URL has a query, a fragment, a user, a profile page, or a part that looks random. */
function hasSecret(url: string): boolean {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/^[^/?#]*/, '');
  const isRandom = (part: string): boolean =>
    /[a-z]/i.test(part) &&
    ((/^[\w-]{8,}$/.test(part) && /\d/.test(part)) || (/^\w{16,}$/.test(part) && /[a-z][A-Z]/.test(part)));
  return /[?#@=]/.test(url) || profile.test(url) || path.split(/[/.]/).some(isRandom);
}

const group = '[0-9a-f]{1,4}(?!\\w)';
const run = new RegExp(`(?<!\\w)${group}(?:\\s?:\\s?(?::\\s?)?${group})+`, 'gi');
const eachGroup = new RegExp(group, 'gi');
const maxGroups = 8;

/** Finds IPv6 addresses with spaces around their colons. Groups on either side that may belong to one are included. */
const findSpacedIpv6: Finder = (text) => {
  const found: Span[] = [];
  for (const { 0: match, index } of text.matchAll(run)) {
    if (!/\s/.test(match)) continue;
    const groups = [...match.matchAll(eachGroup)].map((one) => ({ start: one.index, end: one.index + one[0].length }));
    for (const [first, { start }] of groups.entries()) {
      // The longest candidate first.
      const end = groups
        .slice(first + 1, first + maxGroups)
        .map((last) => last.end)
        .findLast((last) => isAddress(match.slice(start, last)));
      if (end !== undefined) found.push({ kind: 'IP', start: index + start, end: index + end });
    }
  }
  return found;
};

/** Excludes times and lists of numbers, which have no letters, and words between colons, which have few digits. */
function isAddress(text: string): boolean {
  const compact = text.replace(/\s/g, '');
  if (compact === text || !isIPv6(compact) || !/[a-f]/i.test(compact)) return false;
  const digits = compact.replace(/\D/g, '').length;
  const [head = '', rest = ''] = compact.split('::');
  if (!compact.includes('::')) return digits >= 7;
  return digits >= 3 && (compact.split(/:+/).length > 2 || isNetwork(head, rest));
}

/**
 * If there are only two groups, the first must be an allocated network, or one of local use: "Cafe :: 2024" has the
 * form of an address too.
 */
const isNetwork = (first: string, second: string): boolean =>
  /^(?:[23][\da-f]{3}|f[cde][\da-f]{2}|64)$/i.test(first) && [first, second].every((one) => /\d/.test(one));
