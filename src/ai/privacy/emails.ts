import type { Finder, Span } from './spans.ts';

const atWords = 'at|ät|arroba|arobase|chiocciola|apenstaartje|apestaart|małpa|собака|klammeraffe';
const dotWords = 'dot|punkt|punto|ponto|kropka|точка|point|punt';
/** Every way of writing the sign; by word only with spaces or brackets around. */
const at = new RegExp(`@|%40|&#(?:64|x40);|&commat;|\\s{0,2}[([{<]\\s?(?:${atWords}|a|@)\\s?[)\\]}>]\\s{0,2}|\\s(?:${atWords})\\s|_(?:at)_`, 'giu');
const label = "[\\p{L}\\p{N}\\p{M}_-]+";
const dot = `(?:\\.|%2E|&period;|\\s?[([{]\\s?(?:${dotWords}|\\.)\\s?[)\\]}]\\s?|\\s(?:${dotWords})\\s|\\s\\.\\s?)`;
const host = new RegExp(`\\s{0,2}(?:\\[[0-9a-fv.:]{2,60}\\]|${label}(?:${dot}${label})*)`, 'iuy');
const localCharacter = /[\p{L}\p{N}\p{M}.!#$%&'*+/=?^_`{|}~-]/u;
const spelledDot = new RegExp(`[\\p{L}\\p{N}\\p{M}_+-]{1,64}(?:\\s(?:${dotWords})\\s|\\s?[([{]\\s?(?:${dotWords})\\s?[)\\]}]\\s?)$`, 'iu');
const mailProviders = /^\s*(?:gmail|googlemail|yahoo|ymail|hotmail|outlook|live|icloud|me|aol|gmx|web|t-online|proton|protonmail|orange|free|laposte|libero|wp|interia|mail|yandex|qq|163)[.\s([{]/iu;

/** E-mail addresses, also with the signs spelled out or spaces around them, and names of accounts that begin with the sign. */
export const findEmails: Finder = (text) => {
  const spans: Span[] = [];
  let from = 0;
  for (const { 0: sign, index } of text.matchAll(at)) {
    const span = index < from ? undefined : addressAround(text, { sign, index, from });
    if (!span) continue;
    spans.push(span);
    from = span.end;
  }
  return spans;
};

function addressAround(text: string, { sign, index, from }: { sign: string; index: number; from: number }): Span | undefined {
  host.lastIndex = index + sign.length;
  const domain = host.exec(text)?.[0];
  if (domain === undefined) return undefined;
  const end = index + sign.length + domain.length;
  const isFollowed = !/^\s/.test(domain);
  const start = localStart(text, { index, from });
  if (start === index) return sign === '@' && isFollowed && /^[\p{L}_][\p{L}\p{N}_.-]{2}/u.test(domain) ? { kind: 'HANDLE', start: index, end } : undefined;
  return isAddress(text.slice(start, index).trim(), domain, { isSign: /^(?:@|%|&)/.test(sign), isApart: !isFollowed || /\s/.test(text.charAt(index - 1)), isWord: /^\s[^\s([{<]/.test(sign) }) ? { kind: 'EMAIL', start, end } : undefined;
}

interface Manner {
  isSign: boolean;
  /** With a space before or behind the sign. */
  isApart: boolean;
  /** A bare word, which can also be one of the sentence. */
  isWord: boolean;
}

function isAddress(local: string, domain: string, { isSign, isApart, isWord }: Manner): boolean {
  if (isSign && !isApart) return true;
  const [last = ''] = /[\p{L}\p{N}\p{M}_-]+$/u.exec(domain) ?? [];
  const hasDot = last.length < domain.trim().length && /^\p{L}/u.test(last) && last.length > 1;
  if (!isWord) return hasDot;
  return hasDot && (new RegExp(`[\\s(\\[{](?:${dotWords})[\\s)\\]}]`, 'iu').test(domain) || /[._+\d-]/.test(local) || mailProviders.test(domain));
}

/** Back over what can stand before the sign, over spelled dots too, but not into what was found before. */
function localStart(text: string, { index, from }: { index: number; from: number }): number {
  const near = /\s{1,2}$/.exec(text.slice(Math.max(from, index - 2), index))?.[0].length ?? 0;
  let start = index - near;
  if (text.charAt(start - 1) === '"') {
    const open = text.lastIndexOf('"', start - 2);
    return open >= from && start - open < 66 ? open : index;
  }
  while (start > from && (localCharacter.test(text.charAt(start - 1)) || /[\ud800-\udfff]/.test(text.charAt(start - 1)))) start -= 1;
  if (start === index - near) return index;
  for (let words = 0; words < 4; words += 1) {
    const spelled = spelledDot.exec(text.slice(Math.max(from, start - 80), start))?.[0];
    if (spelled === undefined) break;
    start -= spelled.length;
  }
  return start;
}
