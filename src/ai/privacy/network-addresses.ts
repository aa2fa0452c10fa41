import { isIPv6 } from 'node:net';
import { findSpacedIpv6 } from './spaced-ipv6.ts';
import { type Finder, patternFinder, type Span } from './spans.ts';

const dot =
  '(?:\\s?\\.\\s?| ?[([{<](?:\\.|dot|punkt|punto|ponto|point|точка)[)\\]}>] ?| (?:dot|punkt|punto|ponto|point|точка) )';
const octet = '(?:25[0-5]|2[0-4]\\d|[01]?\\d?\\d)(?!\\d)';
/** A zone, a port, or the length of a network's prefix. */
const behind = '(?:%[\\w.-]{1,15})?(?:\\]?:\\d{1,5}(?!\\d))?(?:/\\d{1,3}(?!\\d))?';
const findIpv4 = patternFinder(
  'IP',
  new RegExp(
    `(?<!\\d|\\d\\)|\\d\\)?\\s?\\.\\s?|[+0]\\d{1,4} (?=\\d{2,3}(?:\\.\\d{2,3}){3}))${octet}(?:${dot}${octet}){3}(?!\\s?\\.\\s?\\d)${behind}`,
    'gi',
  ),
);

const hex = '[0-9a-f]';
/** Those whose parts are written, or joined, as only few do. */
const rareForms = [
  new RegExp(`(?<![\\w.])0x${hex}{1,2}(?:\\.(?:0x${hex}{1,2}|\\d{1,3})){3}(?![\\w.]*\\w)`, 'gi'),
  new RegExp(
    `(?<=(?<![a-z])ip(?:v4)?(?:[ -]?add?ress?e?)?\\s?(?:is|ist|est|es|:|=)?\\s?)${hex}{1,2}(?:\\.${hex}{1,2}){3}(?![\\w.]*\\w)`,
    'gi',
  ),
  /(?<![\w.-])[0-9a-f-]{2,45}(?:s\w{1,15})?\.ipv6-literal\.net/gi,
  /(?<![\w.-])(?:(?:[0-9a-f]\.){4,32}ip6|(?:\d{1,3}\.){1,4}in-addr)\.arpa/gi,
].map((form) => patternFinder('IP', form));
/** Marks out of five and letters in a row are none. */
const findDashed = patternFinder(
  'IP',
  new RegExp(`(?<![\\w-])${hex}{1,4}(?:-${hex}{1,4}){7}(?![\\w-])`, 'gi'),
  (match) => /[a-f]/i.test(match) && match.replace(/\D/g, '').length >= 7,
);

const ipv6Like = /[0-9a-f:][0-9a-f:.]+/gi;
const ipv6Behind = new RegExp(behind, 'iy');

/** IPv4 and IPv6 addresses. Four short numbers with dots between are one, whatever else they might be. */
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

/** A run can have letters of a word before it, and a full stop or a colon behind it. */
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
    // "std::deque" has the form of an address.
    const isPartOfWord = /\w/.test(text.charAt(index + start - 1)) || /\w/.test(text.charAt(index + run.length));
    if (digits === 0 || (isPartOfWord && digits < 4)) continue;
    ipv6Behind.lastIndex = index + tail.length;
    return { kind: 'IP', start: index + start, end: index + tail.length + (ipv6Behind.exec(text)?.[0].length ?? 0) };
  }
  return undefined;
}

/** Addresses of pages that carry more than a place. */
export const findUrls: Finder = patternFinder(
  'URL',
  /(?<![a-z0-9+.-])(?:[a-z][a-z0-9+.-]{1,20}:\/\/[^\s<>"']+|www\.[^\s<>"']+|[a-z0-9-]+(?:\.[a-z0-9-]+)+\/[^\s<>"']*)/gi,
  hasSecret,
);

/** Pages of people on sites that are made of them. */
const profile =
  /(?:^|[/.])(?:t\.me|wa\.me|line\.me|paypal\.me|instagram\.com|facebook\.com|fb\.com|twitter\.com|x\.com|linkedin\.com|github\.com|gitlab\.com|vk\.com|ok\.ru|tiktok\.com|snapchat\.com|threads\.net|bsky\.app|reddit\.com|xing\.com|soundcloud\.com|twitch\.tv|pinterest\.com|weibo\.com|calendly\.com|linktr\.ee)\/[^/\s]|\/(?:~|u|users?|profiles?|people|in|members?)\/?[^/\s]{3}/i;

/** A query, a fragment, a user, or a part that looks random rather than worded. */
function hasSecret(url: string): boolean {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/^[^/?#]*/, '');
  const isRandom = (part: string): boolean =>
    /[a-z]/i.test(part) &&
    ((/^[\w-]{8,}$/.test(part) && /\d/.test(part)) || (/^\w{16,}$/.test(part) && /[a-z][A-Z]/.test(part)));
  return /[?#@=]/.test(url) || profile.test(url) || path.split(/[/.]/).some(isRandom);
}
