/** A word that somebody could be called, and the sentence around it. */
export interface Lowercase {
  word: string;
  /** What stands before the word, as far as two words back. */
  before: string;
  sentence: string;
}

/** With a small letter a name alone can be an everyday word, of English or of the language of the sentence. After "with" or "nurse" it is somebody. */
export function isEverydayWord({ word, before, sentence }: Lowercase): boolean {
  if (afterPerson.test(before)) return false;
  return (
    english.has(word) ||
    (usual.has(word) && !englishSentence.test(sentence)) ||
    languages.some(([words, known]) => words.has(word) && known.test(sentence))
  );
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Words before a person; "to" and "by" are such too, since names are rather hidden than words kept. */
const afterPerson =
  /(?<!\p{L})(?:with|to|by|from|ask(?:ed)?|thanks?|told|met|saw|called|named|nurse|doctor|dr|mrs?|ms|miss|sir|madam|prof|uncle|aunt|waiter|waitress|driver|guide|manager|colleague|mit|von|frau|herr|avec|madame|monsieur|con|señora?|signora?|mevrouw|meneer|pani?)\.?\s{1,3}$/iu;

/** Names that are verbs, nouns or adjectives of English. */
const english = words('amber angel chuck curt drew grace grant heath heather mark mason pat rosemary sue');
/** Words of other languages so usual that they stand alone: only an English sentence makes them names. */
const usual = words(
  'blanca blanche celeste cher dale dan dolores don ed ella ernst jung klein lang luz mia ned pilar rico santos',
);
const englishSentence =
  /(?<!\p{L})(?:the|and|with|my|his|she|they|you|very|helped|rude|great|nice|who|from|thanks)(?!\p{L})/iu;

/** Names that are words too in languages of which the sentence has another word. */
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
