import { coordinates } from './coordinates.ts';
import { everyMatch, type Finder, patternFinder, type Span } from './spans.ts';

const house = '\\d{1,5}(?:\\s?(?:bis|ter))?[a-zA-Zа-я]?(?:\\s?[-/]\\s?\\d{1,4}[a-z]?)?';
/** Units after a number that is no house number. */
const noMeasure =
  '(?!\\d|\\p{L}|[.,]\\d|\\s?(?:min|minut|km|m(?!\\p{L})|h(?!\\p{L})|std|stunden|uhr|eur|€|%|mal|jahre?|tage?|times|hours?|days?|years?|people|персон|мин|лет|раз|[Mm]in|[Mm]eter|[Kk]ilometer|[Ss]tunden|[Tt]age|[Jj]ahre?|Mal(?!\\p{L})|[Ee]uro|EUR|Uhr|Sterne|[Pp]unkte|von\\s\\d|out\\sof|/\\d|x\\d))';
const particles =
  "(?:(?:de|du|des|la|las|los|el|le|les|del|della|dei|da|das|do|dos|d'|l'|van|von|den|der|dem|het|of|the)\\s?){0,3}";
const words = `\\p{L}[\\p{L}'’.-]{0,40}(?:\\s\\p{L}[\\p{L}'’.-]{0,40}){0,3}`;
const capital = "(?:\\p{Lu}[\\p{L}'’.-]{0,40}|\\d{1,3}(?:st|nd|rd|th))";

/** House number first: "12 Baker Street", "12 bis rue de la Paix". */
const english = new RegExp(
  `(?<![\\p{Script=Latin}\\d.,])(?:(?:Flat|Apt\\.?|Apartment|Unit|Suite)\\s[\\dA-Z]{1,5},?\\s)?\\d{1,5}[a-zA-Z]?(?:\\s?-\\s?\\d{1,4})?,?\\s(?:${capital}\\s){1,4}(?:[Ss]treet|St|[Rr]oad|Rd|[Aa]venue|Ave|[Ll]ane|Ln|[Dd]rive|Dr|[Bb]oulevard|Blvd|[Cc]ourt|Ct|Way|[Ss]quare|Sq|Close|Terrace|Crescent|Hill|Place|Pl|Gardens|Grove|Mews|Parkway|Pkwy|Highway|Hwy|Row|Loop|Circle|Quay|Wharf|Marg|Nagar)(?!\\p{Script=Latin})\\.?(?:\\s(?:N|S|E|W|NW|NE|SW|SE)(?!\\p{L}))?`,
  'gu',
);
const englishThe =
  /(?<![\p{L}\d.,])\d{1,5}[a-z]?,?\sThe\s(?:Crescent|Avenue|Close|Drive|Green|Street|Terrace|Grove|Lane|Mews|Square)(?!\p{L})/gu;
/** Words for things that are counted, measured or compared: behind a number they begin no name of a street. */
const counted =
  '[ap]\\.?m\\.?|noon|o.?clock|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?|miles?|mph|kmh?|[mgt]b|(?:kilo)?met(?:re|er)s?|yards?|acres?|ways?|lanes?|stars?|wheels?|doors?|rooms?|beds?|bed\\s?rooms?|store?y|people|persons?|family|different|other|more';
const joining = 'about|across|along|and|around|at|behind|by|down|for|from|in|near|off|on|or|over|per|to|up|which|with';
const streetName = "(?:\\p{L}[\\p{L}'’-]{0,40}|\\p{L}{1,2}\\.|\\d{1,3}(?:st|nd|rd|th))";
const anyCaseNumber =
  '(?<![\\p{L}\\d.,])\\d{1,5}[a-z]?,?\\s(?:(?:old|new|north|south|east|west|great|upper|lower|[nesw]\\.?)\\s)?';
const anyCaseName = '(?:\\p{L}{3,30}|\\d{1,3}(?:st|nd|rd|th))';
/** In small letters or in capitals: "12 baker street", "12 THE AVENUE"; "ave" behind a unit is an average. */
const anyCaseStreet = new RegExp(
  `${anyCaseNumber}(?!(?:way|lane|minute|different|other|main|more|busy|one|two|side)\\s|(?:${counted}|secs?|seconds|points?)\\save(?!\\p{L}))${anyCaseName}\\s(?:street|avenue|ave|boulevard|blvd|terrace|crescent)(?!\\p{L})`,
  'giu',
);
/** Likewise "45 old kent road", unless a word follows, as in "road trip" and "road tax", or one road is counted. */
const anyCaseRoad = new RegExp(
  `(?!1\\s)${anyCaseNumber}(?!(?:${counted})\\s)${anyCaseName}\\s(?:road|rd)(?= ?(?:[^\\p{L} ]|$))`,
  'giu',
);
/** Likewise behind words for living somewhere, where words that mean other things too are streets: "church lane". */
const homeEnglish = new RegExp(
  `(?<=(?<!\\p{L})(?:liv(?:e[sd]?|ing)\\s(?:at|in|on)|address(?:\\sis|:)|house\\s(?:at|is|no\\.?|number)|deliver(?:y|ed)\\s(?:at|to)|mov(?:ed?|ing)\\sto|(?:flat|apartment|apt\\.?|unit)\\s[a-z\\d]{1,5},?)\\s)\\d{1,5}[a-z]?,?\\s(?!(?:${counted})\\s)(?:(?!(?:${joining})\\s)${streetName}\\s){1,3}?(?:street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|court|ct|square|sq|close(?!\\s(?:by|to)(?!\\p{L}))|terrace|crescent|gardens|grove|mews|parkway|pkwy|highway|hwy)(?!\\p{L})`,
  'giu',
);
/** French words for a street, in small letters with any name. Those of the second list are that before a capital. */
const frenchWords = 'rue|avenue|av\\.|boulevard|chemin|impasse|allée|quai|faubourg';
const frenchWordsBeforeCapital = `${withCapital(frenchWords)}|${frenchWords.toUpperCase()}|Bd\\.?|[Pp]lace|[Rr]oute|[Cc]ours|[Pp]assage|[Ss]quare|[Rr]ésidence`;
const frenchFirst = new RegExp(
  `(?<![\\p{L}\\d.,])${house},?\\s(?:(?:${frenchWords}|bd\\.?|شارع)\\s${particles}\\p{L}|(?:${frenchWordsBeforeCapital})\\s${particles}\\p{Lu})[\\p{L}'’-]{0,40}(?:[\\s-]\\p{Lu}[\\p{L}'’-]{0,40}){0,3}`,
  'gu',
);

/** House number last: "Hauptstraße 12a", "rue de la Paix 5", "улица Ленина, д. 5". */
const no = '(?:[Nn][º°.o]?\\.?|[Nn]o\\.?:?|[Nn]r\\.?:?|num\\.?|д\\.?|дом|#)';
const flat = '(?:,?\\s?(?:m\\.|lok\\.|корп\\.?|к\\.|стр\\.|кв\\.?|офис|apt\\.?|wohnung|daire|d:)\\s?\\d{1,4})*';
const ending =
  '(?:[Ss]tra(?:ß|ss)e|[Ss]tr\\.?|gasse|allee|platz|weg|steig|damm|ufer|-[Rr]ing|straat|laan|plein|gracht|kade|singel|steeg|dreef|gatan|gata|vägen|gränd|veien|vej|vænget|stræde|(?<!Bri)gade|nkatu|ntie|utca)';
/**
 * Words for work, traffic and seats with the endings of street names. Ways to schools or through parks are streets when
 * a house number follows.
 */
const noStreet =
  '(?!(?:Arbeits|Ausbildungs|Lieblings|Lade|Park|Sitz|(?:Kinders|S)piel|Steh|Stell|Camping|Bau|Flug|Sport|Fußball|Tennis|Golf|Lager|Liege|Zelt|Kita|Krippen|Studien|Start|Fenster|Tisch|Schlaf|Rast|Heim|Schul)platz|(?:Arbeits|Heim|Hin|Her|Rück|Um|Durch|Vor|Unter|Onder|Snel|Aus|Halb|Lösungs|Bildungs|Vertriebs|Liefer)weg|Bahnsteig|Sackgasse|(?:Motor|Om|Gen|Cykel)vej)';
const germanic = new RegExp(
  `(?<![\\p{L}.-])${noStreet}\\p{Lu}[\\p{L}.-]{1,60}?${ending}(?:,?\\s?(?:${no}\\s?)?${house})${noMeasure}`,
  'gu',
);
/** All in upper or lower case, where fewer endings of street names are certain. */
const anyCase = new RegExp(
  `(?<![\\p{L}.-])${noStreet}\\p{L}[\\p{L}.-]{2,60}?(?:stra(?:ß|ss)e|str\\.|gasse|allee|platz|weg|damm|ufer|gracht|straat|vej|vænget|(?<!bri|rene)gade)\\s(?:${no}\\s?)?${house}${noMeasure}`,
  'giu',
);
const germanicApart = new RegExp(
  `(?<!\\p{L})(?:(?:\\p{Lu}[\\p{L}-]{2,30}(?:er|e|es|en|-\\p{L}+|ho|ova|ské|i)|An der|Am|Alte|Neue|Große|Kleine)\\s(?:Stra(?:ß|ss)e|Str\\.|Allee|Gasse|Platz|Weg|Ring|Damm|Ufer|Chaussee|Steig|utca|út|tér|náměstí|třída|ulice)\\s${house}|Straße des \\d{1,2}\\. \\p{L}{3,12} \\d{1,4}|Unter den \\p{Lu}\\p{L}+ \\d{1,3})${noMeasure}`,
  'gu',
);
const typeFirst = new RegExp(
  `(?<![\\p{L}.-])(?:(?:rue|avenue|boulevard|calle|c/|avenida|avda?\\.|av\\.|paseo|carrer|viale|rua|travessa|rodovia|ulica|ul\\.|al\\.|aleja|aleje|osiedle|os\\.|улица|ул\\.|проспект|просп\\.|пр-т|пр\\.|переулок|пер\\.|бульвар|шоссе|набережная|вулиця|вул\\.|jl\\.|jalan|οδός|strada|str\\.|bulevardul|شارع|רחוב|רח'|שדרות|שד')\\s?|(?:Via|via|Corso|corso|Largo|Piazza|piazza|Plaza|plaza|Place|Praça|praça|Estrada|Alameda|Plac|pl\\.)\\s(?=${particles}\\p{Lu}))` +
    `(?!(?:WhatsApp|Teams|Zoom|Skype|E-?[Mm]ail|SMS|App|Amazon|PayPal|Telefon|Internet|Google|Facebook|Instagram|Slack|Web)(?!\\p{L}))${particles}${words},?\\s?(?:${no}\\s?)?${house}${flat}${noMeasure}`,
  'giu',
);
const typeLast = new RegExp(
  `(?<!\\p{L})\\p{Lu}[\\p{L}-]{1,30}(?:(?:ая|ий|ый|ой)\\s(?:улица|ул\\.|переулок|проспект|площадь|шоссе|бульвар|проезд|набережная)|\\s(?:Caddesi|Cad\\.|Cd\\.|Sokağı|Sokak|Sok\\.|Sk\\.|Bulvarı|Mahallesi|Mah\\.)|(?:\\s\\p{Lu}[\\p{L}.]{1,20}){0,2}\\s(?:Road|Marg|Nagar)),?\\s?(?:${no}\\s?)?(?!(?:19|20)\\d\\d(?!\\d))${house}${flat}${noMeasure}`,
  'gu',
);

const kana = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー]';
const eastAsian: readonly RegExp[] = [
  /\p{Script=Han}{0,20}(?:路|街|道|巷|弄|胡同|段|小区|村)\d{1,5}(?:弄\d{1,4})?(?:号|號)(?:[\p{Script=Han}\d-]{0,12}(?:楼|樓|室|单元|栋|层))?/gu,
  new RegExp(`${kana}{0,20}\\d{1,3}丁目(?:\\d{1,4}番地?)?(?:[のー-]?\\d{1,4}(?:号|番地?)?){0,2}`, 'gu'),
  new RegExp(`${kana}{0,12}(?:都|道|府|県|市|区|町|村)${kana}{0,12}\\d{1,4}(?:[-ー]\\d{1,4}){1,2}(?:号)?`, 'gu'),
  /(?:\p{Script=Hangul}{1,8}(?:시|도)\s)?\p{Script=Hangul}{1,8}(?:구|군|시|읍|면)\s[\p{Script=Hangul}\d]{1,12}(?:로|길|동)\s?\d{1,4}(?:-\d{1,4})?(?:번길\s?\d{1,4})?/gu,
  /\p{Script=Hangul}{2,8}(?:대로|로)\s?\d{1,4}번?길\s?\d{1,4}/gu,
];

/** Postal codes by a word before them or by their form, boxes, coordinates. */
const postal: readonly RegExp[] = [
  /(?<![a-z])(?:zip|zip ?code|post ?code|postal code|plz|postleitzahl|code postal|código postal|cep|cap|kod pocztowy|postnummer|irányítószám|индекс|邮编|郵便番号|우편번호)\s?(?:is|ist|est|es|é|:|=|是|は)?\s{0,2}([a-z]{0,2}-?\d[a-z\d]{0,5}(?:[ -]\d[a-z\d]{2,3}|[ -]?[a-z]{2})?)(?![a-z\d])/giu,
  /(?<![A-Z\d])([A-Z]{1,2}\d[A-Z\d]? \d[ABD-HJLNP-UW-Z]{2})(?![A-Za-z\d])/g,
  /(?<![A-Z\d])([ABCEGHJ-NPRSTVXY]\d[A-Z] \d[A-Z]\d)(?![A-Za-z\d])/g,
  /(?<![A-Z])((?:A[LKZR]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY])\s\d{5}(?:-\d{4})?)(?!\d)/g,
  /(?<![\p{L}])((?:p\.?\s?o\.?\s?box|postfach|apartado(?: de correos)?|boîte postale|casella postale|а\/я|skrytka pocztowa|postbus)\s?:?\s?\d{1,6}(?:\s\d{2,3})?)(?!\d)/giu,
  /(?<![\p{L}\d-])((?:D|A|CH|F|B|L|I|E|NL|PL)-\d{4,5}\s\p{Lu}\p{L}{2,30})/gu,
  /(〒\s?\d{3}-?\d{4})(?!\d)/g,
  ...coordinates,
];
/** Phrases like "my address is"; the text up to its last digit is the address. */
const introduced =
  /(?<![\p{L}])(?:(?:my|home|postal|our) address|adress?e|anschrift|wohnhaft(?: in)?|domicilié|direcci[oó]n|indirizzo|endereço|morada|adres|adresim|адрес|住所|住址|地址|주소|عنواني|العنوان|כתובת|पता)\s?(?:is|ist|lautet|est|es|è|é|to|:|=|是|は|は、)\s{0,2}([^\n;!?。]{3,90})/giu;
const town = /^,?\s(?:[A-Z]{1,2}-)?\d{4,6}(?:-\d{3})?(?:\s?[A-Z]{2})?\s\p{Lu}[\p{L}-]{1,30}/u;

const findParts: readonly Finder[] = [
  english,
  englishThe,
  anyCaseStreet,
  anyCaseRoad,
  homeEnglish,
  frenchFirst,
  germanic,
  anyCase,
  germanicApart,
  typeFirst,
  typeLast,
  ...eastAsian,
].map((pattern) => patternFinder('ADDRESS', pattern));

/**
 * Finds streets with a house number, postal codes, post office boxes, coordinates, and addresses that are announced as
 * such.
 */
export const findPostalAddresses: Finder = (text) => {
  if (!/\d/.test(text)) return [];
  const streets = findParts
    .flatMap((find) => find(text))
    .map((span) => ({ ...span, end: span.end + (town.exec(text.slice(span.end, span.end + 60))?.[0].length ?? 0) }));
  return [...streets, ...findPostalCodes(text), ...findStatedAddresses(text)];
};

function findPostalCodes(text: string): Span[] {
  return postal.flatMap((pattern) =>
    everyMatch(text, pattern).map(({ 0: match, 1: found = match, index }) => ({
      kind: 'ADDRESS',
      start: index + match.length - found.length,
      end: index + match.length,
    })),
  );
}

function findStatedAddresses(text: string): Span[] {
  return everyMatch(text, introduced).flatMap(({ 0: match, 1: found = '', index }) => {
    const last = found.search(/\d\D*$/);
    const start = index + match.length - found.length;
    return last < 0 || /@|:\/\/|\0/.test(found.slice(0, last))
      ? []
      : [{ kind: 'ADDRESS', start, end: start + last + 1 }];
  });
}

/** The alternatives of a pattern, each with a capital. */
function withCapital(words: string): string {
  return words.replace(/(?<=^|\|)\p{L}/gu, (letter) => letter.toUpperCase());
}
