import { everyMatch, type Finder } from '../spans.ts';

/** What is followed by a number of somebody, also a short one. Numbers of rooms, pages, lines and models are nobody's. */
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
const number =
  '(?:numbers?|no\\.?|nr\\.?|num\\.?|#|№|n[°º]|id|code|ref\\.?|nummer|numéro|número|numero|numer|номер|号码|号|番号)(?!\\p{L})';
const is = '(?:\\s?(?:is|was|ist|lautet|est|es|è|é|to|:|=|-|是|は|为)){0,2}';
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
  new RegExp(
    `(?<![a-z])(?:licen[cs]e plate|number plate|plate|kennzeichen|immatriculation|matrícula|targa|kenteken|госномер)[.:]?${is}\\s{0,2}([A-Z0-9]{1,4}(?:[ -][A-Z0-9]{1,5}){0,2})(?![a-z\\d])`,
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

/** Short numbers that a word before them makes somebody's: "customer no. 48213", "my PIN is 4821". */
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

/** "Booking 2019" is a year, "account no. 12" could be anybody's. */
function isNumber(found: string): boolean {
  const digits = found.replace(/\D/g, '');
  return (
    (digits.length >= 3 || (/^[A-Z0-9 -]{5,12}$/.test(found) && /\d/.test(found) && /[A-Z]{2}/.test(found))) &&
    !/^(?:19|20)\d\d$/.test(found) &&
    !/^\d{1,2}[:.]\d\d$/.test(found) &&
    !/^\d+(?:st|nd|rd|th|x|%)$/i.test(found)
  );
}
