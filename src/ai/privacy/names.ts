import { everyMatch, type Finder, namePatternFinder, type Span, uncoveredParts } from './spans.ts';

/** Longest piece of text that is given to the library, whose time grows faster than the length of some texts. */
const maxPieceLength = 400;
const maxWordLength = 40;
const nameTags = ['MaleName', 'FemaleName', 'FirstName', 'LastName', 'Person'];
const title =
  /^(?:mrs?|ms|miss|dr|prof|sir|madam|madame|monsieur|mme|mlle|herr|frau|señora?|señorita|signora?|sra?|sig|pani?|meneer|mevrouw|senhora?)$/i;

/**
 * Returns a finder of people that uses the compromise library: its given names, family names and sentence patterns,
 * made for English, with many names of other languages. Loaded on first use and then kept; that takes a third of a
 * second and 45 MB.
 */
export function loadPeopleFinder(): Promise<Finder> {
  loaded ??= load();
  return loaded;
}

let loaded: Promise<Finder> | undefined;

async function load(): Promise<Finder> {
  const { default: nlp } = await import('compromise');
  const isKnownName = knownNames(nlp.model());
  return (text) =>
    pieces(text)
      .filter(({ piece }) => mayContainName(piece, isKnownName))
      .flatMap(({ piece, at }) => people(nlp(piece).match('#Person+').json({ offset: true }), text, { piece, at }));
}

/** Reads the library's list of words. Without it every sentence is given to the library. */
function knownNames(model: object): (word: string) => boolean {
  const lexicon: unknown = Reflect.get(Reflect.get(model, 'one') ?? {}, 'lexicon');
  if (typeof lexicon !== 'object' || lexicon === null) return () => true;
  const known = new Set(
    Object.entries(lexicon).flatMap(([word, tags]) =>
      [tags].flat().some((tag) => nameTags.includes(tag)) ? [word] : [],
    ),
  );
  return (word) => known.has(word);
}

/** Whether a piece has a capitalised word after its first, or a word that is a known name; other pieces are skipped. */
function mayContainName(piece: string, isKnownName: (word: string) => boolean): boolean {
  let isFirst = true;
  for (const [word] of piece.matchAll(/\p{L}[\p{L}\p{M}]*/gu)) {
    if ((!isFirst && word !== 'I' && /^\p{Lu}/u.test(word)) || isKnownName(word.toLowerCase())) return true;
    isFirst = false;
  }
  return false;
}

function people(
  found: readonly { offset?: { start: number; length: number } }[],
  text: string,
  sentence: Piece,
): Span[] {
  return found.flatMap(({ offset }) => {
    if (!offset) throw new Error('the library does not say where a name stands');
    const start = sentence.at + offset.start;
    return uncoveredParts({ kind: 'PERSON', start, end: start + offset.length }, text).flatMap((part) =>
      trimmed(part, text, sentence),
    );
  });
}

/** Trims signs, titles, and lower-case words beside capitalised ones from the edges of a name. */
function trimmed({ kind, start, end }: Span, text: string, { piece, at }: Piece): Span[] {
  const words = [...text.slice(start, end).matchAll(/[\p{L}\p{M}][\p{L}\p{M}'’-]*/gu)];
  const isCapital = (match: RegExpExecArray): boolean => /^\p{Lu}/u.test(match[0]);
  const capitals = words.some(isCapital)
    ? words.slice(words.findIndex(isCapital), words.findLastIndex(isCapital) + 1)
    : words;
  // A title alone is no name.
  const name = capitals.slice(capitals.findIndex(({ 0: word }) => !title.test(word)));
  const [first, last] = [name[0], name.at(-1)];
  if (!first || !last || title.test(first[0])) return [];
  const from = start + first.index;
  if (
    first === last &&
    isEverydayWord({ word: first[0], before: text.slice(Math.max(at, from - 20), from), sentence: piece })
  )
    return [];
  return [{ kind, start: from, end: start + last.index + last[0].length }];
}

/** A part of the text as given to the library, with its offset. */
interface Piece {
  piece: string;
  at: number;
}

const sentenceEnd = /(?<=[\p{Ll}\p{N})]{2}[.!?]["'’]?)\s+|\n+/gu;

/** Splits a text into sentences, long ones at spaces. Runs of signs and very long words are blanked out. */
function pieces(text: string): Piece[] {
  const cleaned = text
    .replaceAll('\0', ' ')
    .replace(/[^\p{L}\p{M}\p{N}\s]{3,}|[^\s]{41,}/gu, (run) => ' '.repeat(run.length));
  const ends = [
    ...[...cleaned.matchAll(sentenceEnd)].map(({ 0: space, index }) => index + space.length),
    cleaned.length,
  ];
  const result: Piece[] = [];
  let at = 0;
  for (const end of ends)
    while (at < end) {
      const next = Math.min(end, cut(cleaned, at));
      result.push({ piece: cleaned.slice(at, next), at });
      at = next;
    }
  return result;
}

function cut(text: string, at: number): number {
  const space = text.slice(at, at + maxPieceLength).lastIndexOf(' ');
  return at + (space > maxWordLength ? space + 1 : maxPieceLength);
}

/** A word that may be a given name, and the sentence around it. */
interface Lowercase {
  word: string;
  /** The text before the word, up to two words. */
  before: string;
  sentence: string;
}

/**
 * Whether a lower-case name is rather an everyday word, of English or of the sentence's language. After "with" or
 * "nurse" it is a name.
 */
function isEverydayWord({ word, before, sentence }: Lowercase): boolean {
  if (afterPerson.test(before)) return false;
  return (
    english.has(word) ||
    (usual.has(word) && !englishSentence.test(sentence)) ||
    languages.some(([words, known]) => words.has(word) && known.test(sentence))
  );
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Words that stand before a person, "to" and "by" among them: it is better to hide a word than to miss a name. */
const afterPerson =
  /(?<!\p{L})(?:with|to|by|from|ask(?:ed)?|thanks?|told|met|saw|called|named|nurse|doctor|dr|mrs?|ms|miss|sir|madam|prof|uncle|aunt|waiter|waitress|driver|guide|manager|colleague|mit|von|frau|herr|avec|madame|monsieur|con|señora?|signora?|mevrouw|meneer|pani?)\.?\s{1,3}$/iu;

/** Given names that are also English verbs, nouns or adjectives. */
const english = words('amber angel chuck curt drew grace grant heath heather mark mason pat rosemary sue');
/** Given names that are common words of other languages: only in an English sentence they are names. */
const usual = words(
  'blanca blanche celeste cher dale dan dolores don ed ella ernst jung klein lang luz mia ned pilar rico santos',
);
const englishSentence =
  /(?<!\p{L})(?:the|and|with|my|his|she|they|you|very|helped|rude|great|nice|who|from|thanks)(?!\p{L})/iu;

/** Given names that are also words of languages which the sentence contains another word of. */
const languages: readonly (readonly [ReadonlySet<string>, RegExp])[] = [
  [
    words('alba ana clara flora leon mina pia serena stella toni vera'),
    /(?<!\p{L})(?:el|la|los|las|un|una|uno|es|fue|era|muy|más|que|de|del|con|por|para|en|y|se|su|está|hay|pero|il|lo|gli|è|di|che|per|molto|più|non|sono|ma|o|os|um|uma|foi|muito|mais|com|não|é)(?!\p{L})/iu,
  ],
  [
    words('claire noel pascal'),
    /(?<!\p{L})(?:le|la|les|un|une|des|est|était|très|plus|et|pas|trop|pour|avec|qui|dans|sur|peu|assez)(?!\p{L})/iu,
  ],
  [
    words('ben jo kay lea mina'),
    /(?<!\p{L})(?:bir|ve|çok|bu|için|değil|det|er|og|är|och|jag|jeg|ikke|inte|ja|das|ist|nicht)(?!\p{L})/iu,
  ],
];

/** Titles that are written with a full stop, often without a space behind it. */
const abbreviations = 'mrs?|ms|dr|prof|mme|mlle|sra?|sig(?:\\.ra)?|dott(?:\\.ssa)?|dhr|mevr|mw';
const closings =
  'my regards|regards|greetings|sincerely|signed|grüßen?|cordialement|saludos|saluti|cumprimentos|groet(?:en)?|pozdrawiam';
/** Titles and phrases that introduce a name, in the languages of surveys. */
const introductions = [
  abbreviations,
  closings,
  "my name(?:'s| is)|i am called|call me|miss|professor|doctor|nurse|sir|madam",
  'ich heiße|mein name ist|herrn?|frau|schwester|pfleger',
  "je m'appelle|mon nom est|monsieur|madame|mademoiselle|docteur",
  'me llamo|mi nombre es|señor(?:a|ita)?|don|doña|doctora?',
  'mi chiamo|il mio nome è|signor(?:a|e|ina)?|dottor(?:e|essa)?',
  'meu nome é|me chamo|senhora?|dona|doutora?',
  'ik heet|mijn naam is|meneer|mevrouw',
  'nazywam się|mam na imię|pana|panu|panem|pani|panią|panią|pan',
  'меня зовут|моё имя|мое имя|господин|госпожа',
].join('|');
const introduction = new RegExp(
  `(?<!\\p{L})(?:(?:${introductions})(?!\\p{L})(?:[,:]\\s{0,3}|\\.?\\s{1,3})|(?:${abbreviations})\\.)`,
  'giu',
);
/**
 * Titles that are sizes or verbs in small letters, save behind an article: "M. Girard", "la dra Pérez". "M.Sc." and the
 * like are degrees.
 */
const capitalTitle =
  /(?<![\p{L}.])(?:MM?\.(?!(?:Sc|Ed|Eng|Phil|Res|D|B\.?A)\.)|Dra(?:\.|(?=\s))|(?<=(?<!\p{L})(?:la|da|una|uma|mi|minha|nuestra|nossa)\s)dra(?:\.|(?=\s)))\s{0,3}/gu;
const sizeWords = 'sizes?|taille|talla|taglia|tamanho|tamaño|größe|gr\\.|maat|rozmiar';
/** Words, counts and signs before an "M." that is a size, a degree, a line or a time rather than a title. */
const beforeSize = new RegExp(
  `(?:${[
    `(?<!\\p{L})(?:${sizeWords}|degree)(?:\\s?[:=-]|\\s(?:is|was|est|ist|war|es|è|é))?`,
    '(?<!\\p{L})(?:medium|wear|fits?|order(?:ed)?|took|take|bought|buy|chose|got)',
    "(?<!\\p{L})(?:j['’]ai\\s(?:commandé|pris|choisi)|je\\s(?:porte|prends))",
    '(?<!\\p{L})(?:an?|the|une?|en|du|le|ein|eine[rn]?|in|s|m|x{0,3}l)',
    '(?<!\\p{L})(?:lines?|ligne|linie|route|bus|gate|section|group|option|class|room|row|zone|block)',
    // "S, M.", "taille 38, M.", "38/M.", but "Bonjour, M. Girard", "Mme & M. Girard", "le 12 mars 2024, M. Girard"
    `(?<!\\p{L})(?:s|x{0,3}l|(?:${sizeWords})\\s\\d{1,3}),`,
    '(?:(?<!\\p{L})(?:s|x{0,3}l)|\\d)\\s?[/&]',
    '(?<!\\d)\\d{1,3}',
  ].join('|')})\\s{0,2}$`,
  'iu',
);
/** Without a full stop an initial may also be a word that begins a sentence. */
const initial = '(?:\\p{Lu}\\.\\s?|(?:(?<=[^.,:\\s]\\s{1,3})|(?![AEIOUWYZÀÉÓАВИКОСУЯ]))\\p{Lu}\\s)';
/** How a family name may begin: "von der Leyen", "de la Torre", "van 't Hof", "d'Amico", "al-Fayed". */
const particles =
  "(?:(?:van|von|de|del|di|da|do|dos|du|bin|ten|ter)\\s(?:(?:de|der|den|la|las|los|['’]t)\\s){0,2}|d['’]|(?:al|el)-)";
const capitalised = "\\p{Lu}[\\p{L}\\p{M}'’-]{1,40}";
const moreParticles = "(?:(?:van|von|de|der|den|la|las|los|di|da|dos|del|el|al|bin)\\s){0,2}(?:['’]t\\s|d['’])?";
const name = new RegExp(
  `${initial}{0,3}${particles}?${capitalised}(?:\\s(?:\\p{Lu}\\.\\s?){0,2}${moreParticles}${capitalised}){0,3}`,
  'uy',
);

const determiners =
  'die|der|dem|den|(?:[kmds]?eine|diese|jene|ihre|unsere|welche)[mnr]?|[kmds]?ein|ihr|unser|de|een|deze|onze';
/**
 * Behind these words a particle leads to a place rather than to a family name: "die Frau von der Kasse", "la doctora de
 * Urgencias", "pan de Viena", "saludos de Madrid".
 */
const ofPlace: readonly RegExp[] = [
  new RegExp(`(?<!\\p{L})(?:${closings}|pan)\\s{1,3}$`, 'iu'),
  new RegExp(
    `(?<!\\p{L})(?:${determiners})\\s(?:\\p{L}{1,30}\\s)?(?:frau|herrn?|schwester|pfleger|meneer|mevrouw)\\s{1,3}$`,
    'iu',
  ),
  /(?<!\p{L})(?:prof|professor|doctora?|dra\.?|docteur|dottor(?:e|essa)?|doutora?|dona)\s{1,3}$/u,
];
const isOfPlace = (before: string): boolean => ofPlace.some((pattern) => pattern.test(before));
const beginsWithParticle = new RegExp(`^${particles}`, 'u');

/**
 * Words that follow a title or phrase without being names, and two-letter words that are titles in one language only.
 */
const noNames =
  /^(?:And|Und|Et|Y|E|Or|Oder|Ou|I|The|Der|Die|Das|Le|La|Les|El|Los|If|It|We|You|My|Your|Our|Thank|Thanks|Please|Monsieur|Madame|Mr|Mrs|MM|Sir|Madam|Herr|Frau|Herren|Damen|Dra?|Prof|P\.S\.|N\.B\.)$/;

/** Finds capitalised names after a title or a phrase that introduces them, save after those of `capitalTitle`. */
export const findIntroducedNames: Finder = (text) => namesBehind(text, everyMatch(text, introduction));

/**
 * Finds capitalised names after "M.", "MM." and "Dra.". The first is also the initial of a middle name, and the given
 * name before it must not be lost: run this on the same text as the library.
 */
export const findTitledNames: Finder = (text) =>
  namesBehind(
    text,
    everyMatch(text, capitalTitle).filter(
      ({ 0: words, index }) => !/^MM?\./.test(words) || !beforeSize.test(text.slice(Math.max(0, index - 20), index)),
    ),
  );

function namesBehind(text: string, introductions: readonly RegExpExecArray[]): Span[] {
  const spans: Span[] = [];
  for (const { 0: words, index } of introductions) {
    const start = index + words.length;
    name.lastIndex = start;
    const found = name.exec(text)?.[0];
    if (found === undefined || noNames.test(found.split(/\s/)[0] ?? '')) continue;
    if (beginsWithParticle.test(found) && isOfPlace(text.slice(Math.max(0, start - 70), start))) continue;
    spans.push({ kind: 'PERSON', start, end: start + found.length });
  }
  return spans;
}

/** Given names that are also English words, so that the library does not know them as names in lower case. */
const nouns = 'amber|angel|dawn|faith|grace|heather|hope|joy|rose|rosemary';
const others = 'bill|chuck|curt|drew|grant|heath|mark|mason|pat|sue|will';
const but = (names: string, words: string): string =>
  names
    .split('|')
    .filter((name) => !words.split('|').includes(name))
    .join('|');
/** Names of ideals, to which things can speak. */
const ideals = 'faith|grace|hope|joy';
/** Names that also continue the sentence: "my boss will", "our partner grant is due", "our server curt and rude". */
const verbsAndAdjectives = 'bill|curt|drew|grant|will';
const roles =
  'boss|manager|supervisor|colleague|friend|neighbou?r|brother|sister|husband|wife|son|daughter|partner|waiter|waitress|server|nurse|doctor|dentist|therapist|teacher|trainer|coach|guide|driver|hairdresser';
/** What may follow a name: the end of the sentence, or a word that no thing of that name is followed by. */
const behind =
  "(?=\\s*(?:$|[.,;!?)\\]\\n])|\\s(?:about|and|or|who|from|at|yesterday|today|again|because|but|regarding|when|was|is|has|he|she)(?!\\p{L})|\\sin the(?!\\p{L})|['’]s(?!\\p{L}))";
/** Adjectives and verbs that only fit people: no mark is ever rude. */
const manner =
  '(?:was|is) (?:(?:so|very|really|extremely|quite|always|never|also|not|rather|a bit) ){0,2}(?:rude|impolite|polite|helpful|unhelpful|friendly|unfriendly|courteous|attentive|impatient|knowledgeable|dismissive|condescending|arrogant)(?!\\p{L})';
const kindness = '(?:helped|served|greeted|ignored|welcomed|called|emailed|phoned|told|assisted) (?:me|us)(?!\\p{L})';
/**
 * Names that can begin a sentence with such a verb; "hope was never friendly" and "dawn greeted us" are not about
 * people.
 */
const blamedNames = 'amber|angel|heather|rosemary|bill|chuck|drew|mark|mason|pat|sue';
const patterns: readonly RegExp[] = [
  // At the beginning of a sentence: "mark was rude", but not "the mark was wrong".
  new RegExp(
    `(?<=(?:^|[.!?;,\\n]|(?<!\\p{L})(?:but|because|and|then)(?=\\s))\\s{0,2})(${blamedNames}) (?:${manner}|${kindness})`,
    'dgiu',
  ),
  // "speak to bill or pat", but "spoke with joy and hope"
  new RegExp(
    `(?<!\\p{L})(?:talk(?:ed|ing|s)?|sp(?:oke|oken|eak|eaking)) (?:to|with) (?:${others}) (?:and|or) (${but(nouns, ideals)}|${others})(?!\\p{L})${behind}`,
    'dgiu',
  ),
  // "talked to mark", but "talked to mark the day", and "spoke with grace"
  new RegExp(
    `(?<!\\p{L})(?:talk(?:ed|ing|s)?|sp(?:oke|oken|eak|eaking)) to (${nouns}|${others})(?!\\p{L})${behind}`,
    'dgiu',
  ),
  // "she speaks to dawn", but "the design speaks to joy"
  new RegExp(`(?<!\\p{L})speaks to (${but(nouns, ideals)}|${others})(?!\\p{L})${behind}`, 'dgiu'),
  new RegExp(
    `(?<!\\p{L})(?:talk(?:ed|ing|s)?|sp(?:oke|oken|eak|eaks|eaking)) with (${others})(?!\\p{L})${behind}`,
    'dgiu',
  ),
  new RegExp(`(?<!\\p{L})(?:hi|hello|hey|dear) (${nouns}|${others})(?!\\p{L})(?=\\s*(?:$|[.,;!?)\\n]))`, 'dgiu'),
  new RegExp(
    `(?<!\\p{L})(?:my|our) (?:${roles}) (${nouns}|${but(others, verbsAndAdjectives)})(?!\\p{L})${behind}`,
    'dgiu',
  ),
];

/** Finds lower-case given names of people who are spoken to, greeted, or introduced by a role ("my nurse grace"). */
export const findAddressedNames = namePatternFinder(patterns);
