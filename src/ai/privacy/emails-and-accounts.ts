import { everyMatch, type Finder, type Span } from './spans.ts';

const atWords =
  '[Aa][Tt]|[Ää][Tt]|[Aa][Rr][Rr][Oo][Bb][Aa]|arobase|chiocciola|apenstaartje|apestaart|małpa|małpka|собака|собачка|klammeraffe|zavináč|kukac|snabel-a|παπάκι|שטרודל|آت';
const signWords = 'アットマーク|アット|골뱅이|艾特|圈a';
const dotWords = 'dot|punkt|punto|ponto|kropka|точка|point|punt|tečka|pont|نقطة|נקודה|点|點|ドット|점';
/** The at sign in all spellings; as a word only between spaces, brackets or other marks. */
const at = new RegExp(
  `[@\u24d0]|\\s{0,2}[([{<【]\\s?(?:${atWords}|${signWords}|[Aa]|@|[Aa][Tt][ -][Ss]ign)\\s?[)\\]}>】]\\s{0,2}|\\s{1,2}(?:${atWords}|[Aa][Tt][ -][Ss]ign)\\s{1,2}|\\s?(?:${signWords})\\s?|([_*|/~=^.-])(?:[Aa][Tt])\\1|["'“”](?:[Aa][Tt])["'“”]|(?<=[\\p{Ll}\\d])A[Tt](?=[\\p{L}\\d-]{2,63}D(?:OT|ot)[A-Za-z]{2})`,
  'gu',
);
const label = '[\\p{L}\\p{N}\\p{M}_-]{1,80}';
/** A full stop before a space usually ends a sentence. */
const dot = `(?:\\.(?:\\s(?=(?:com|org|net|edu|info)(?!\\p{L})))?|&period;|\\s?[([{<*"'|~^=/]\\s?(?:${dotWords}|\\.)\\s?[)\\]}>*"'|~^=/]\\s?|\\s(?:${dotWords})\\s|\\s\\.\\s?|·)`;
const host = new RegExp(`\\s{0,2}(?:\\[(?:ipv6:)?[0-9a-fv.:]{2,60}\\]|${label}(?:${dot}${label}){0,30})`, 'iuy');
/** Twice what standards allow; bounds how far to look back from each at sign. */
const maxLocalLength = 130;
const localCharacter = /[\p{L}\p{N}\p{M}.!#$%&'*+/=?^_`{|}~-]/u;
const spelledDot = new RegExp(
  `[\\p{L}\\p{N}\\p{M}_+-]{1,64}(?:\\s(?:${dotWords})\\s|\\s?[([{<]\\s?(?:${dotWords}|\\.)\\s?[)\\]}>]\\s?)$`,
  'iu',
);
const spelledInside = /[-_*](?:dot|punkt|punto)[-_*]|\p{L}D(?:OT|ot)\p{L}|[\w](?:点|點|ドット|점)\w/u;
/** A sign right behind a domain, which is then rather the local part of another address. */
const signBehind = /^([\p{L}\p{N}\p{M}.!#$%&'*+/=?^_`{|}~-]{0,64}(?:\s{1,2}(?=[@\u24d0]\s))?)[@\u24d0]/u;
const mailProviders =
  /^\s*(?:gmail|googlemail|yahoo|ymail|hotmail|outlook|live|icloud|me|aol|gmx|web|t-online|proton|protonmail|orange|free|laposte|libero|wp|interia|mail|yandex|qq|163)[.\s([{]/iu;
/** After these words a bare "at" probably stands for the sign. */
const mailBefore =
  /(?:e-?mail|mail|write|contact|reach|addres+e?|correo|courriel|adres|почт|邮箱|メール|이메일|بريد|דוא)[^\n]{0,30}$/iu;

/** Finds e-mail addresses, also with spelled-out or spaced signs, and account names that begin with "@". */
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

function addressAround(
  text: string,
  { sign, index, from }: { sign: string; index: number; from: number },
): Span | undefined {
  host.lastIndex = index + sign.length;
  const domain = host.exec(text)?.[0];
  if (domain === undefined) return undefined;
  const end = index + sign.length + domain.length;
  const isFollowed = !/^\s/.test(domain);
  const isSign = /^[@\u24d0]/.test(sign);
  // A word without a full stop is a domain only after the sign itself.
  if (!isSign && !hasDotOf(domain)) return undefined;
  // In "me at ann.lee@example.org" only the sign itself stands in an address.
  const between = isSign ? undefined : signBehind.exec(text.slice(end, end + 70))?.[1];
  if (between !== undefined) {
    const address = addressAround(text, { sign: text.charAt(end + between.length), index: end + between.length, from });
    if (address?.kind === 'EMAIL')
      return { ...address, start: Math.min(address.start, end - domain.trimStart().length) };
  }
  const start = localStart(text, { index, from });
  const letters = spacedLetters(text, { index, from, end: index + sign.length });
  if (letters) return letters;
  const handle: Span | undefined =
    sign === '@' && isFollowed && isHandle(domain)
      ? { kind: 'HANDLE', start: index, end: handleEnd(text, end) }
      : undefined;
  if (start === index) return handle;
  const local = text.slice(start, index).trim();
  const manner = {
    isSign,
    isApart: !isFollowed || /\s/.test(text.charAt(index - 1)),
    isWord: /^\s[^\s([{<【]/.test(sign),
    isGlued: /^A[Tt]$/.test(sign),
  };
  if (isAddress(local, domain, { ...manner, isAfterCue: mailBefore.test(text.slice(Math.max(0, start - 40), start)) }))
    return { kind: 'EMAIL', start, end };
  return manner.isApart ? handle : undefined;
}

interface SignContext {
  isSign: boolean;
  /** There is a space before or after the sign. */
  isApart: boolean;
  /** The sign is a bare word, which may also be part of the sentence. */
  isWord: boolean;
  /** The sign stands between words without spaces, as in "annATexampleDOTorg". */
  isGlued: boolean;
  isAfterCue: boolean;
}

function isAddress(
  local: string,
  domain: string,
  { isSign, isApart, isWord, isGlued, isAfterCue }: SignContext,
): boolean {
  // Excludes a percentage with a number, such as "20%40".
  if (isSign && !isApart) return /\p{L}|\./u.test(domain);
  if (spelledInside.test(domain)) return true;
  if (isGlued || !isWord) return hasDotOf(domain);
  return (
    hasDotOf(domain) &&
    (isAfterCue ||
      new RegExp(`[\\s(\\[{<*"'](?:${dotWords})[\\s)\\]}>*"']`, 'iu').test(domain) ||
      /[._+\d-]/.test(local) ||
      mailProviders.test(domain))
  );
}

function hasDotOf(domain: string): boolean {
  if (spelledInside.test(domain)) return true;
  const [last = ''] = /[\p{L}\p{N}\p{M}_-]+$/u.exec(domain) ?? [];
  return last.length < domain.trim().length && /^\p{L}/u.test(last) && last.length > 1;
}

/** Excludes "@noon", "@home" and the like. */
const isHandle = (name: string): boolean =>
  /^[\p{L}_][\p{L}\p{N}_.-]{2}/u.test(name) &&
  !/^(?:noon|home|work|school|all|every(?:one|body)|here|channel|the|lunch|night|dinner|office|desk|the(?:m|n|re|se|y|irs?|at(?:er|re)s?|mes?|rapy)|least|once|first|last|times?)$/iu.test(
    name,
  );

/** Includes the server of the account, where one is named. */
function handleEnd(text: string, end: number): number {
  return end + (/^[@:][\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/u.exec(text.slice(end, end + 100))?.[0].length ?? 0);
}

/** Finds an address with a space after each letter: "a n n @ e x a m p l e . o r g". */
function spacedLetters(
  text: string,
  { index, from, end }: { index: number; from: number; end: number },
): Span | undefined {
  const before = /(?<!\S)(?:[\p{L}\p{N}._+-]\s){3,64}$/u.exec(text.slice(Math.max(from, index - 130), index))?.[0];
  const after =
    before === undefined
      ? undefined
      : /^\s?(?:[\p{L}\p{N}.-]\s){3,64}[\p{L}\p{N}](?![\p{L}\p{N}])/u.exec(text.slice(end, end + 130))?.[0];
  return before === undefined || after === undefined
    ? undefined
    : { kind: 'EMAIL', start: index - before.length, end: end + after.length };
}

/**
 * Returns where the local part begins: looks back over its characters and spelled-out dots, but not into an earlier
 * match.
 */
function localStart(text: string, { index, from }: { index: number; from: number }): number {
  const near = /\s{1,2}$/.exec(text.slice(Math.max(from, index - 2), index))?.[0].length ?? 0;
  let start = index - near;
  if (text.charAt(start - 1) === '"') {
    const open = text.lastIndexOf('"', start - 2);
    return open >= from && start - open < 66 ? open : index;
  }
  const first = Math.max(from, start - maxLocalLength);
  while (
    start > first &&
    (localCharacter.test(text.charAt(start - 1)) ||
      /[\ud800-\udfff]/.test(text.charAt(start - 1)) ||
      (text.charAt(start - 1) === '\\' && start === index))
  )
    start -= 1;
  if (start === index - near) return index;
  for (let words = 0; words < 4 && /[\s)\]}>]/.test(text.charAt(start - 1)); words += 1) {
    const spelled = spelledDot.exec(text.slice(Math.max(from, start - 80), start))?.[0];
    if (spelled === undefined) break;
    start -= spelled.length;
  }
  return start;
}

const services =
  'gmail|skype|insta(?:gram)?|ig|telegram|discord|snap(?:chat)?|wechat|weixin|line|qq|icq|signal|whatsapp|twitter|tik ?tok|facebook|linkedin|xing|vk|steam|psn|xbox|twitch|reddit|github|微信|微博';
const name = '[\\p{L}\\p{N}](?:[\\p{L}\\p{N}_.-]{0,38}[\\p{L}\\p{N}_])';
const latinName = '[a-z\\d](?:[a-z\\d_.-]{0,38}[a-z\\d_])';
const patterns: readonly RegExp[] = [
  // "my insta name is ann", "username: ann"
  new RegExp(
    `(?<![a-z])(?:my|mein|mon|mi|meu|mijn|mój|мой)\\s(?:${services})\\s(?:id|name|user(?:name)?|handle|account)\\s?(?:is|ist|est|es|è|é|to|:|=)\\s?(${name})`,
    'giu',
  ),
  new RegExp(
    `(?<![a-z])(?:user ?name|user ?id|nick(?:name)?|benutzername|screen name|handle|nom d'utilisateur|nombre de usuario|логин)\\s?(?:is|ist|est|es|:|=)\\s?(${latinName})`,
    'giu',
  ),
  // "微信号ann77", "line id: ann"
  new RegExp(`(?<![a-z])(?:${services})\\s?(?:id|号|號|name|handle)\\s?[:=是为]?\\s?(${latinName})`, 'giu'),
  new RegExp(
    `(?<![a-z])(?:${services})\\s?(?:[:=]|is|ist|est|es)?\\s?(?=[a-z\\d.-]{0,40}[_\\d.][a-z\\d_])([a-z]${latinName})(?![a-z])`,
    'giu',
  ),
  // "skype: live:ann.lee"
  /(?<![a-z])skype(?![a-z])[^\n]{0,20}?(live:\.?[a-z\d][a-z\d_.-]{1,62}[a-z\d_])/giu,
  /(?<![\p{L}\d_])([\p{L}\d_.]{2,32}#\d{4})(?!\d)/gu,
  /(?<![\w/.])\/?u\/([\w-]{3,20})(?![\w/])/g,
  // Right after the word, longer digits are a code of letters and digits, such as a passport number.
  /(?<![a-z\d])(?:qq|icq)(?:\s?(?:号|號|id|number|nr\.?)\s?[:=]?\s?|\s?[:=]\s?|\s)(\d{5,12}[a-z]?)(?![a-z\d])/gi,
  /(?<![a-z\d])(?:qq|icq)(\d{5})(?![a-z\d])/gi,
];

/** Finds account names by the word before them or by their form. */
export const findAccountNames: Finder = (text) =>
  patterns.flatMap((pattern) =>
    everyMatch(text, pattern).flatMap(({ 0: match, 1: found = '', index }) =>
      isOfService(found)
        ? []
        : [{ kind: 'HANDLE', start: index + match.length - found.length, end: index + match.length }],
    ),
  );

/** Excludes addresses of the service itself ("instagram.com") and everyday words. */
const isOfService = (found: string): boolean =>
  /^(?:com|www|the|not|too|very|good|bad|and|is|it|a|an)$|^[^:]*\.(?:com|org|net)$/i.test(found);
