import { type Finder, type Span, uncoveredParts } from '../spans.ts';
import { isEverydayWord } from './everyday-words.ts';

/** Longest piece that the library is given: its time grows faster than some texts do. */
const maxPieceLength = 400;
const maxWordLength = 40;
const nameTags = ['MaleName', 'FemaleName', 'FirstName', 'LastName', 'Person'];
const title =
  /^(?:mrs?|ms|miss|dr|prof|sir|madam|madame|monsieur|mme|mlle|herr|frau|señora?|señorita|signora?|sra?|sig|pani?|meneer|mevrouw|senhora?)$/i;

/**
 * Finds people by the given names, family names and sentence patterns of the library, which is made for English and knows many names of
 * other languages too. Loaded on first use, and then kept: it takes a third of a second and 45 MB.
 */
export function loadPeopleFinder(): Promise<Finder> {
  return (loaded ??= load());
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

/** The library's own list of words. Without it every sentence is looked at. */
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

/** A sentence without a capital but its first, and without a word that can be a name, needs no longer look. */
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

/** Without what stands at the edges and is no part of a name: signs, and small words beside capitalised ones. */
function trimmed({ kind, start, end }: Span, text: string, { piece, at }: Piece): Span[] {
  const words = [...text.slice(start, end).matchAll(/[\p{L}\p{M}][\p{L}\p{M}'’-]*/gu)];
  const isCapital = (match: RegExpExecArray): boolean => /^\p{Lu}/u.test(match[0]);
  const capitals = words.some(isCapital)
    ? words.slice(words.findIndex(isCapital), words.findLastIndex(isCapital) + 1)
    : words;
  // A title alone names nobody.
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

/** A part of the text as the library gets it, and where it stands. */
interface Piece {
  piece: string;
  at: number;
}

const sentenceEnd = /(?<=[\p{Ll}\p{N})]{2}[.!?]["'’]?)\s+|\n+/gu;

/** Sentences, cut at spaces where they are long; runs of signs and endless words, which no name has, are blanked out. */
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
