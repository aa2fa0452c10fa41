export const phoneWords =
  'tel|telephone|telefon[eo]?|téléphone|teléfono|phone|mobile|cell|handy|fax|whatsapp|signal|viber|portable|móvil|cellulare|komórka|telefoonnummer|тел|телефон|电话|手机|電話|携帯|전화|هاتف|טלפון|☎|📞|📱|📲';
const morePhoneWords = 'tél|tlf|tfn|puh|mob(?![a-z])|gsm|sms|wechat|skype|facetime|zalo|line id';
const contactWords = `${phoneWords}|${morePhoneWords}|my number|number is|nummer|rufnummer|numéro|número|numero|numer|номер|号码|番号|번호|رقم|מספר|नंबर|numaram|call(?![a-z])|text me|message me|reach (?:me|us)|ring(?: me| us)?(?![a-z])|contact|kontakt|contatto|contato|contacto|erreichen|联系|連絡|연락`;
/** Menus are none, though some languages call them cards. */
const accountWords =
  '(?<!gift |score ?|business )card(?![a-z])|visa|mastercard|amex|iban|sort code|account|acct|kreditkarte|ec-karte|bankkarte|kartennummer|konto|compte|carte (?:bancaire|bleue|de crédit)|cuenta|tarjeta|carta di credito|conto|cartão|conta(?![a-z])|rekening|bankpas|creditcard|kont[oa]|numer karty|сч[её]т|карты|карта|账户|卡号|カード|口座|계좌|카드|حساب|חשבון';
/** A full stop, a question mark or a line break right behind the word ends nothing. */
const behind = '(?:\\s(?:no|nr|num))?[.!?]?\\s{0,3}[^\\d\\n.!?]{0,25}$';
/** What only begins as one of them does. */
const other = '(?!tell|telev|mobilit|cell[ao]|contou?r|accountab|signali)';
const contactBefore = new RegExp(`(?<![a-z])${other}(?:${contactWords})${behind}`, 'iu');
const accountBefore = new RegExp(`(?<![a-z])${other}(?:${accountWords})${behind}`, 'iu');
/** The last word before a number that is rather counted, rated, or a time than somebody's. */
const countingWords = new RegExp(
  `(?<!\\p{L})(?:${[
    'support|services?|apps?|bills?|hours|calls|cent(?:er|re)|reception|data|plans?|payments?|users?|rat(?:ed?|ing)s?|scores?|scored|in|since|from|between|of|for|until|till|every|about|over|than|costs?|opens?|open|times|took|waited|paid|lasted|rooms?|pages?|years?|versions?',
    'seit|von|zwischen|bis|ab|für|um|etwa|über|kostet|bewertung|rechnung(?:en)?|de|depuis|entre|pour|vers|environ|desde|hasta|para|por|dal?|dalle|tra|per|sinds|van|tussen|voor|od|między|za|с|от|до|между|за',
  ].join('|')})[\\s:,;–-]{0,3}$`,
  'iu',
);

/** Whether a word for telephones, or another way to reach somebody, stands shortly before. */
export const followsContactWord = (text: string, at: number): boolean => contactBefore.test(before(text, at));

/** A number and what joins the next one to it: "20 30 40 50 (work) or". */
const another =
  /(?<![\d\p{L}])(\d(?:[^\d\p{L}\0]{0,3}\d){6,14})(?:\s?\([^()\d]{1,20}\))?\s?[,;/]?\s(?:or|and|oder|und|ou|et|o|u|y|e|of|en|lub|i|или|и)\s{1,2}$/iu;

/** Whether what begins here is told as somebody's number, of a telephone, an account or a card, and not as a time, a price or a rating of these; also beside one that is. */
export function isPersonalNumber(text: string, at: number): boolean {
  for (let [start, numbers] = [at, 0]; numbers < maxJoined; numbers += 1) {
    const words = before(text, start);
    if ((contactBefore.test(words) || accountBefore.test(words)) && !countingWords.test(words)) return true;
    const joined = another.exec(before(text, start, maxJoinedLength));
    if (!joined) return false;
    start -= joined[0].length;
  }
  return false;
}

/** Numbers that are told together, and characters of one and what joins it. */
const maxJoined = 4;
const maxJoinedLength = 90;
const before = (text: string, at: number, length = 50): string => text.slice(Math.max(0, at - length), at);
