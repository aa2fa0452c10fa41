import { namePatternFinder } from './name-patterns.ts';

/** Given names that are words of English too, so that nobody takes them for names in small letters. */
const nouns = 'amber|angel|dawn|faith|grace|heather|hope|joy|rose|rosemary';
const others = 'bill|chuck|curt|drew|grant|heath|mark|mason|pat|sue|will';
const but = (names: string, words: string): string =>
  names
    .split('|')
    .filter((name) => !words.split('|').includes(name))
    .join('|');
/** What things speak to. */
const ideals = 'faith|grace|hope|joy';
/** "my boss will", "our partner grant is due", "my coach drew and explained" and "our server curt and rude" say something else. */
const verbsAndAdjectives = 'bill|curt|drew|grant|will';
const people =
  'boss|manager|supervisor|colleague|friend|neighbou?r|brother|sister|husband|wife|son|daughter|partner|waiter|waitress|server|nurse|doctor|dentist|therapist|teacher|trainer|coach|guide|driver|hairdresser';
/** The name ends what is said, or one of these words goes on: no thing of that name does anything here. */
const behind =
  "(?=\\s*(?:$|[.,;!?)\\]\\n])|\\s(?:about|and|or|who|from|at|yesterday|today|again|because|but|regarding|when|was|is|has|he|she)(?!\\p{L})|\\sin the(?!\\p{L})|['’]s(?!\\p{L}))";
/** What only people are called, and do to somebody: no mark was ever rude. */
const manner =
  '(?:was|is) (?:(?:so|very|really|extremely|quite|always|never|also|not|rather|a bit) ){0,2}(?:rude|impolite|polite|helpful|unhelpful|friendly|unfriendly|courteous|attentive|impatient|knowledgeable|dismissive|condescending|arrogant)(?!\\p{L})';
const kindness = '(?:helped|served|greeted|ignored|welcomed|called|emailed|phoned|told|assisted) (?:me|us)(?!\\p{L})';
/** "hope was never friendly", "faith helped me" and "dawn greeted us" speak of no people. */
const blamedNames = 'amber|angel|heather|rosemary|bill|chuck|drew|mark|mason|pat|sue';
const patterns: readonly RegExp[] = [
  // At the head of what is said: "mark was rude", but "the mark was wrong"
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
    `(?<!\\p{L})(?:my|our) (?:${people}) (${nouns}|${but(others, verbsAndAdjectives)})(?!\\p{L})${behind}`,
    'dgiu',
  ),
];

/** Names in small letters of people who are spoken to, greeted or said to be somebody's. */
export const findAddressedNames = namePatternFinder(patterns);
