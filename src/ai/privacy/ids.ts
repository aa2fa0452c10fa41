import { isTimeStamp } from './ordinary-numbers.ts';
import { findPhoneAndCardNumbers } from './phone-numbers.ts';
import { blankOut, everyMatch, type Finder, mergeOverlaps, patternFinder, type Span } from './spans.ts';
import { asLatin } from './text-folding.ts';

const edge = '(?<![A-Za-z0-9])';
const end = '(?![A-Za-z0-9])';
const alone = '(?<!\\d[ .\\-/()_+:]{1,3})';
const ends = '(?![ .\\-/()_+:]{1,3}\\d)';
const pattern = (forms: readonly string[], flags: string): RegExp =>
  new RegExp(`${edge}(?:${forms.join('|')})${end}`, flags);

const hex = '[0-9a-f]';
/** IDs of devices, sessions and wallets. Searched before account numbers, which could match inside them. */
const findRandomIds = patternFinder(
  'ID',
  pattern(
    [
      `${hex}{8}(?:-${hex}{4}){3}-${hex}{12}`,
      `(?<!${hex}[:-])${hex}{1,2}(?:([:-])${hex}{1,2})(?:\\1${hex}{1,2}){4,6}(?![:-]?${hex})`,
      `${hex}{4}\\.${hex}{4}\\.${hex}{4}(?!\\.?${hex})`,
      `(?<!(?<![a-z0-9])${hex}{2} )(?:${hex}{2} ){5}${hex}{2}(?! ${hex}{2}(?![a-z0-9]))`,
      `${hex}{6}-${hex}{6}`,
      `0x${hex}{8,64}`,
      'bc1[a-z0-9]{25,60}',
      '(?:sk|pk|rk|gh[opsu]|xox[abps]|glpat|hf)[-_][\\w-]{8,200}',
      'eyJ[\\w-]{8,2000}(?:\\.[\\w-]{1,2000}){1,2}',
    ],
    'gi',
  ),
  (match) => /[a-z]/i.test(match) && (/\d/.test(match) || match.length > 15),
);

/** Written forms of national numbers. With further digits beside them they are part of a longer number. */
const national = [
  `${alone}(?:\\d{3}[- ]\\d{2}[- ]\\d{4}|\\d{3}\\.\\d{3}\\.\\d{3}-\\d{2}|\\d{6}[-+]\\d{4})${ends}`,
  '\\d{6}[-+A-FU-Y]\\d{3}[A-Z]',
  '[A-Z]{2}\\d{6}[A-D]',
  '[A-Z]{6}\\d{2}[A-Z]\\d{2}[A-Z]\\d{3}[A-Z]',
  '\\d{1,2}\\.?\\d{3}\\.?\\d{3}-?[A-HJ-NP-TV-Z]',
  '[XYZ]-?\\d{7}-?[A-Z]',
  '[A-Z]{5}\\d{4}[A-Z]',
  '\\d[A-Z][A-Z0-9]\\d-?[A-Z][A-Z0-9]\\d-?[A-Z]{2}\\d{2}',
  '[A-Z]\\d{6}\\(\\d\\)',
  '[A-Z]\\d{3}-\\d{4}-\\d{4}',
];
const findNational = patternFinder(
  'ID',
  pattern(national, 'gi'),
  (match) => !/^\d+[a-z]{1,3}$/i.test(match) || /^\d{8}[a-z]$/i.test(match),
);
/** Forms with gaps are matched in capitals only. */
const findSpaced = patternFinder(
  'ID',
  pattern(
    [
      '[A-Z]{2}(?:[ .-]?\\d{2}){3}[ .-]?[A-D]',
      '[A-Z]{3} [A-Z]{3} \\d{2}[A-Z]\\d{2} [A-Z]\\d{3}[A-Z]',
      '[12] \\d{2} \\d{2} 2[AB] \\d{3} \\d{3}(?: \\d{2})?',
      '\\d{2} ?\\d{6} ?[A-Z] ?\\d{3}',
    ],
    'g',
  ),
);
/** British ones are also matched in lower case, unless the two letters are a word before a row of numbers. */
const findSpacedBritish = patternFinder(
  'ID',
  pattern(
    [
      '(?!a[mnst]|b[ey]|e[lnrst]|[hjlnt][ae]|c[am]|k[gm]|m[aelmy]|nr|o[knr]|p[aem]|s[aet]|we|ya|z[ae])[a-ceghj-prstw-z][a-ceghj-nprstw-z](?:[ .-]\\d{2}){3}[ .-]?[a-d]',
    ],
    'gi',
  ),
);
/** Tokens of letters and at least six digits: passports, customer numbers, keys; not a number with its unit. */
const findTokens = patternFinder(
  'ID',
  new RegExp(`${edge}[A-Za-z0-9]{7,}${end}`, 'g'),
  (word) =>
    /[A-Za-z]/.test(word) &&
    word.replace(/\D/g, '').length >= 6 &&
    !/^(?:\d{1,6}[A-Za-z]{1,3}|\d{1,5}(?:x\d{1,5}){1,3}[a-z]{0,2})$/.test(word) &&
    !isTimeStamp(word),
);

export const findDeviceIds: Finder = (text) => findRandomIds(asLatin(text));

export const findIds: Finder = (text) => {
  const plain = asLatin(text);
  return [...findNational(plain), ...findSpaced(plain), ...findSpacedBritish(plain), ...findTokens(plain)];
};

/**
 * Words before a number that identifies somebody, however short it is. Numbers of rooms, pages, lines and models do
 * not.
 */
const kinds = [
  'customer|client|patient|member(?:ship)?|employee|staff|student|account|acct|policy|contract|case|ticket|order|booking|reservation|invoice|reference|tracking|passport|licen[cs]e|registration|insurance|tax|ssn|social security|nhs|mrn|ehic|pnr|loyalty|id card|identity card',
  'kunden|mitglieds|personal|patienten|matrikel|konto|vertrags|bestell|rechnungs|auftrags|vorgangs|ticket|ausweis|pass|steuer|versicherungs|sozialversicherungs|buchungs|referenz',
  'client|adhérent|compte|commande|dossier|passeport|sécurité sociale|réservation|facture',
  'cliente|socio|cuenta|pedido|pasaporte|factura|reserva|contrato|expediente',
  'cliente|conto|ordine|passaporto|fattura|prenotazione|tessera|pratica',
  'cliente|conta|pedido|passaporte|fatura|reserva|contrato',
  'klant|rekening|bestel|paspoort|factuur|lidmaatschaps|polis',
  'klienta|konta|zamówienia|paszportu|faktury|umowy',
  'клиента|договора|заказа|паспорта|счета|счёта|паспорт|серия|снилс|инн',
  '客户|订单|账户|护照|身份证|会员|学号|工号|会員|注文|顧客|口座|予約',
].join('|');
/** Words for a number, between what it numbers and the number itself. */
export const number =
  '(?:numbers?|no\\.?|nr\\.?|num\\.?|#|№|n[°º]|id|code|ref\\.?|nummer|numéro|número|numero|numer|номер|号码|号|番号)(?!\\p{L})';
/** Words and marks between a label and its number. */
export const is = '(?:\\s?(?:is|was|ist|lautet|est|es|è|é|to|:|=|-|是|は|为)){0,2}';
const token = '[A-Z0-9](?:[A-Z0-9./-]{0,22}[A-Z0-9])';
const labelledPatterns = [
  new RegExp(
    `(?<![a-z])(?:(?:${kinds})[\\s.-]{0,2}(?:id\\s)?${number}|${number}\\s(?:de\\s|du\\s|d[io]\\s|van\\s)?(?:${kinds})|booking ref|kd\\.-nr|passport|reisepass|(?:personal)?ausweis|account|mrn|pnr|ehic|ssn|инн|снилс|паспорт|серия|sort code|routing number|blz|imei|vin|staff id|employee|member\\s#)[.:]?${is}\\s{0,2}(${token})(?![a-z\\d])`,
    'giu',
  ),
  new RegExp(
    `(?:last four|last 4|letzten vier|ends? in|ending (?:in|with))(?: digits?)?${is}\\s{0,2}(\\d{3,6})(?!\\d)`,
    'giu',
  ),
];
const secretPatterns = [
  new RegExp(
    `(?<![a-z])(?:pin|pin code|cvv|cvc|otp|tan|passcode|security code|пин|密码)[.:]?${is}\\s{0,2}(\\d{3,8})(?!\\d|\\s?(?:digit|stellig|numbers|times))`,
    'giu',
  ),
  new RegExp(
    `(?<![a-z])(?:password|passwort|kennwort|pass ?phrase|pw|pwd|mot de passe|contraseña|senha|wachtwoord|hasło|пароль|密码|パスワード|비밀번호|token|api key)[.:]?${is}\\s{0,2}(?=\\S{0,30}\\d|\\S{0,30}\\0)(?=\\S{0,128}\\p{L})([^\\s,;]{5,256})`,
    'giu',
  ),
  /(?<![a-z])(?:exp(?:iry|ires)?|gültig bis|valid (?:thru|until))[.:]?\s{0,2}((?:0[1-9]|1[0-2])\s?\/\s?\d{2}(?:\d{2})?)(?!\d)/giu,
];

/** Finds short numbers that the word before them makes personal: "customer no. 48213", "my PIN is 4821". */
export const findLabelledNumbers: Finder = (text) =>
  [labelledPatterns, secretPatterns].flatMap((patterns) =>
    patterns.flatMap((pattern) =>
      everyMatch(text, pattern).flatMap(({ 0: match, 1: found = '', index }) =>
        patterns === secretPatterns || isNumber(found)
          ? [{ kind: 'ID', start: index + match.length - found.length, end: index + match.length }]
          : [],
      ),
    ),
  );

/** Excludes years ("booking 2019") and numbers that are too short to identify anybody ("account no. 12"). */
function isNumber(found: string): boolean {
  const digits = found.replace(/\D/g, '');
  return (
    (digits.length >= 3 || (/^[A-Z0-9 -]{5,12}$/.test(found) && /\d/.test(found) && /[A-Z]{2}/.test(found))) &&
    !/^(?:19|20)\d\d$/.test(found) &&
    !/^\d{1,2}[:.]\d\d$/.test(found) &&
    !/^\d+(?:st|nd|rd|th|x|%)$/i.test(found)
  );
}

/** Words and signs between what introduces a date and the date. */
const join = [
  'is|was|ist|war|lautet|est|es|è|é|to|on|am|the|der|den|dem|le|el|il|op|em|no dia|día|dia|giorno|dnia|:|=|是|は',
  'falls|fällt(?: auf)?|tombe|cae|cai|cade|valt|wypada',
  // "(DD/MM/YYYY)", "(TT.MM.JJJJ)", "(gg-mm-aaaa)"
  '\\((?:[dtjgmyar]{1,4}[./ -]?){3}\\)',
].join('|');
/** Any word but those: "der 12. März" begins with the day. */
const months = `(?!(?:${join})(?!\\p{L}))\\p{L}{3,12}\\.?`;
const day = '\\d{1,2}(?:st|nd|rd|th|er|º|\\.)?';
/** "12-Mar-1980", "12.mar.80", "Mar-12-1980", "1980-Mar-12" */
const monthsBetweenSigns = [
  '\\d{1,2}[./-]\\p{L}{3,12}[./-](?:\\d{4}|\\d{2})',
  '\\p{L}{3,12}[./-]\\d{1,2}[./-](?:\\d{4}|\\d{2})',
  '\\d{4}[./-]\\p{L}{3,12}[./-]\\d{1,2}',
].join('|');
const dates = [
  '(?:\\d{1,4}[./ -]){2}\\d{1,4}',
  '(?:19|20)\\d{6}',
  `${day}\\s(?:of\\s|de\\s)?${months}(?:,?\\s(?:de\\s|of\\s)?(?:19|20)\\d\\d)?`,
  monthsBetweenSigns,
  `${months}\\s\\d{1,2}(?:st|nd|rd|th)?(?:,?\\s(?:19|20)\\d\\d)?`,
  '(?:(?:昭和|平成|令和)?\\d{1,4}年)?\\d{1,2}月\\d{1,2}[日号]?',
  '(?:\\d{2,4}년\\s?)?\\d{1,2}월\\s?\\d{1,2}일',
].join('|');
/** A day alone, or with the number of its month, behind an article: "the 12th", "the 12/3", "el día 12". */
const dayBehindArticle =
  '(?<=(?<!\\p{L})(?:the|der|den|dem|día|dia|giorno)\\s)\\d{1,2}(?:st|nd|rd|th)?(?:[./]\\d{1,2}\\.?)?(?![./-]?\\d)';
/**
 * Dates with a year, by which a date of birth is known although other words stand between. Parts of longer numbers are
 * none.
 */
const dateWithYear = `(?<!\\d|\\d[./-])(?<date>${[
  '\\d{1,2}[./-]\\s?\\d{1,2}[./-]\\s?(?:(?:19|20)\\d\\d|\\d\\d)',
  '(?:19|20)\\d\\d[./-]\\d{1,2}[./-]\\d{1,2}',
  '(?:19|20)\\d{6}',
  monthsBetweenSigns,
  `${day}\\s(?:of\\s|de\\s)?${months},?\\s(?:de\\s|of\\s)?(?:19|20)\\d\\d`,
  `${months}\\s\\d{1,2}(?:st|nd|rd|th)?,?\\s(?:19|20)\\d\\d`,
].join('|')})(?!\\d|[./-]\\d)`;
/** Verbs of births, behind which a place may stand. */
const births =
  'born|geboren|geb\\.|né(?:e|\\(e\\))?|nac(?:[íi](?:do|da)?|i[óo])|nat[oa]|nasci(?:do|da)?|urodzon[ya]|urodził[ae]m się|родил(?:ся|ась)';
/** Names that forms and sentences have for the date of birth. */
const labels = [
  "date of birth|birth ?date|birthday(?:['’]s)?",
  'geburtsdatum|geburtstag|geb\\.?-?\\s?datum',
  'date de naissance|anniversaire',
  'fecha de nacimiento|cumpleaños',
  'data di nascita|compleanno',
  'data de nascimento|aniversário',
  'geboortedatum|verjaardag',
  'data urodzenia|urodziny',
].join('|');
const before = [
  labels,
  'born(?: on| the)?|d\\.?\\s?o\\.?\\s?b\\.?|b\\.',
  'geboren(?: am| op)?|geb\\.?(?: am)?',
  'né(?:e|\\(e\\))? le',
  'nac(?:[íi](?:do|da)?|i[óo])(?: el)?',
  'nat[oa] il',
  'nasci(?:do|da)?(?: em| a)?',
  'urodzon[ya]|urodził[ae]m się|ur\\.',
  'родил(?:ся|ась)|дата рождения|д\\.\\s?р\\.|день рождения',
  '出生日期|出生于|生日|生年月日|誕生日',
  '생년월일|생일',
  'تاريخ الميلاد|مواليد',
  'נולדתי ב-?|תאריך לידה|יום הולדת',
  'doğum tarihi(?:m)?|doğum günü(?:m)?',
  'जन्म तिथि|जन्मतिथि',
  '(?<!\\d)\\*(?=\\s?\\d{1,2}[./ ]\\d)',
].join('|');
const joins = `(?:\\s?(?:${join})){0,4}`;
const weekdays = [
  '(?:mon|tues|wednes|thurs|fri|satur|sun)day',
  '(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend',
  '(?:lun|mar|mercre|jeu|vendre|same)di|dimanche',
  'lunes|martes|miércoles|jueves|viernes|sábado|domingo',
  '(?:lune|marte|mercole|giove|vener)dì|sabato|domenica',
  '(?:segunda|terça|quarta|quinta|sexta)(?:-feira)?',
  '(?:maan|dins|woens|donder|vrij|zater|zon)dag',
  'poniedziałek|wtorek|środ[aę]|czwartek|piątek|sobot[aę]|niedziel[aę]',
].join('|');
/**
 * Also a question mark, a dash, a weekday, a word, and brackets, save before what may be three ages. Only a date with
 * its year is one of birth behind these.
 */
const moreJoins = `(?:\\s?(?:${join}|[?-]|(?:${weekdays}),?|\\([^()\\d]{2,14}\\)(?!\\s?(?:\\d{1,2}[./-]){2}[0-2]\\d(?!\\d)))){0,5}(?:\\s{0,2}\\p{L}{3,12}(?:,${joins}|(?=\\s)))?`;
const prepositions = 'in|at|im|te|à|aux?|en|a|em|we?|в|zu|bei';
/** A full stop ends a place, save in abbreviations: "St. Gallen", "Frankfurt a. M." */
const placeWord = "(?:(?:\\p{L}\\.){1,4}|(?:ste?|sta|br|mt|ft|ob)\\.|\\p{L}[\\p{L}'’-]{0,30})";
const place = `(?<place>${placeWord}(?:[,\\s]{1,2}${placeWord}){0,3}?)`;
/** The rest of a sentence rather than a place: "Paris and joined", "hospital, discharged", "Oslo moved". */
const sentence =
  /^\P{Ll}.*,\s?\p{Ll}|(?<!\p{L})(?:and|und|et|y|e|i|en|и)\s(?:\p{Ll}|I\s)|(?<!\p{L})(?![Uu]nited)\p{L}{2,30}ed(?!\p{L})/u;
const noLetterBefore = '(?<![\\p{Script=Latin}\\p{Script=Cyrillic}*])';
const noLetterBehind = '(?!\\p{Script=Latin}|\\p{Script=Cyrillic})';
/** In each the date ends the match. */
const cuesThenDate: readonly RegExp[] = [
  new RegExp(
    `${noLetterBefore}(?:${before})${noLetterBehind}${joins}\\s{0,2}(?<date>${dates}|${dayBehindArticle})(?![\\d])`,
    'giu',
  ),
  new RegExp(`${noLetterBefore}(?:${before})${noLetterBehind}${moreJoins}\\s{0,2}${dateWithYear}`, 'giu'),
  // "Geburtstag 12.3."
  new RegExp(
    `${noLetterBefore}geb(?:urtsdatum|urtstag|oren|\\.)${joins}\\s{0,2}(?<date>\\d{1,2}\\.\\s?\\d{1,2}\\.)(?!\\s?\\d)`,
    'giu',
  ),
  // "born in London on 12 March 1980"
  new RegExp(`${noLetterBefore}(?:${births})\\s(?:${prepositions})\\s${place},?${joins}\\s${dateWithYear}`, 'giu'),
];
/** In each the date begins the match. */
const datesThenCue: readonly RegExp[] = [
  new RegExp(
    `(?<![\\d])(?<date>${dates})(?:에|に|\\s)?\\s?(?:geboren|出生|生まれ|生(?!\\p{Script=Han})|년생|생(?!\\p{Script=Hangul}))`,
    'giu',
  ),
  new RegExp(`${dateWithYear}\\s(?:${prepositions})\\s${place}\\sgeboren(?!\\p{L})`, 'giu'),
  // "12/03/1980 is my date of birth"
  new RegExp(
    `${dateWithYear}\\s(?:is|was|ist|war|est|es|è|é|jest|to)\\s(?:my|mein|ma|mon|mi|(?:la |il )?mi[ao]|(?:a |o )?minha|(?:o )?meu|mijn|moj[ae])\\s(?:${labels})(?!\\p{L})`,
    'giu',
  ),
];

/**
 * Finds dates of birth by the words around them, and the whole of longer numbers of which such a date would be a
 * part.
 */
export const findBirthDates: Finder = (text) => {
  if (!/\d/.test(text)) return [];
  const found = (cues: readonly RegExp[]) =>
    cues
      .flatMap((cue) => everyMatch(text, cue))
      .map(({ 0: match, index, groups: { date = '', place = '' } = {} }) => ({ match, index, date, place }))
      .filter(({ place }) => !sentence.test(place));
  const spans: readonly Span[] = [
    ...found(cuesThenDate).map(({ match, index, date }) => ({ start: index + match.length - date.length, date })),
    ...found(datesThenCue).map(({ index, date }) => ({ start: index, date })),
  ].map(({ start, date }) => ({ kind: 'BIRTH', start, end: start + date.length }));
  if (spans.length === 0) return [];
  // Numbers are looked for with the dates and beside them: either search alone could leave the end of one.
  return mergeOverlaps([
    ...spans,
    ...findPhoneAndCardNumbers(text),
    ...findPhoneAndCardNumbers(blankOut(text, spans)),
  ]).filter(({ start, end }) => spans.some((span) => start <= span.start && span.start < end));
};
