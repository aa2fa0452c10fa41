import { everyMatch, type Finder } from './spans.ts';

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
  /(?<![\p{L}\d_])([\p{L}\d_.]{2,32}#\d{4})(?!\d)/gu,
  /(?<![\w/.])\/?u\/([\w-]{3,20})(?![\w/])/g,
  // Without anything between, more than five digits are a code of letters and digits, such as a passport's.
  /(?<![a-z\d])(?:qq|icq)(?:\s?(?:号|號|id|number|nr\.?)\s?[:=]?\s?|\s?[:=]\s?|\s)(\d{5,12}[a-z]?)(?![a-z\d])/gi,
  /(?<![a-z\d])(?:qq|icq)(\d{5})(?![a-z\d])/gi,
];

/** Names of accounts that a word before them or their form gives away. */
export const findAccountNames: Finder = (text) =>
  patterns.flatMap((pattern) =>
    everyMatch(text, pattern).flatMap(({ 0: match, 1: found = '', index }) =>
      isOfService(found)
        ? []
        : [{ kind: 'HANDLE', start: index + match.length - found.length, end: index + match.length }],
    ),
  );

/** "instagram.com" is no name of somebody. */
const isOfService = (found: string): boolean =>
  /^(?:com|www|the|not|too|very|good|bad|and|is|it|a|an)$|\.(?:com|org|net)$/i.test(found);
