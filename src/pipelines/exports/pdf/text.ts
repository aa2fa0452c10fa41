import bidiFactory from 'bidi-js';
import { type Family, familyOrder, fontPath, type Weight } from './fonts.ts';
import { skipMissingAnchors } from './mark-anchors.ts';
import { preserveTextMapping } from './text-layer.ts';

const bidi = bidiFactory();

export interface TextStyle {
  size: number;
  weight?: Weight | undefined;
  color?: string | undefined;
}

interface FullStyle {
  size: number;
  weight: Weight;
  color: string;
}

/** A piece of a line in one font and one direction. */
interface Run {
  text: string;
  family: Family;
  level: number;
  width: number;
}

/** A line ready to be drawn, with its runs in visual order. */
export interface Line {
  runs: Run[];
  width: number;
  isRightToLeft: boolean;
}

export interface Block extends FullStyle {
  lines: Line[];
  lineHeight: number;
  height: number;
}

const leading = 1.4;
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
const clusters = new Intl.Segmenter('und', { granularity: 'grapheme' });
const scriptsWithoutSpaces = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const closingMarks = /^[\u3001\u3002\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\u300d\u300f\u3011\u3015\u30fc]/;
const neutral = /^[\p{P}\p{N}\p{Z}\p{S}]+$/u;
const strongRightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;

/**
 * Lays out text of any language: picks a font for each character, breaks lines, and orders runs by the Unicode
 * bidirectional algorithm (UAX #9), which the PDF library does not do. Independent of the page.
 */
export function createTypesetter(doc: PDFKit.PDFDocument, language: string) {
  const select = (family: Family, weight: Weight, size: number) => {
    doc.font(fontPath(family, weight)).fontSize(size);
    preserveTextMapping(doc);
    skipMissingAnchors(doc);
    return doc;
  };
  const widths = new Map<string, number>();
  /** Each text is measured once, at size 1000; widths are proportional to the size. */
  const widthOf = (
    text: string,
    { family, level }: Pick<Run, 'family' | 'level'>,
    { weight, size }: FullStyle,
  ): number => {
    const key = `${family} ${weight} ${level % 2} ${text}`;
    const width = widths.get(key) ?? select(family, weight, 1000).widthOfString(text, featuresOf(text, level));
    widths.set(key, width);
    return (width * size) / 1000;
  };

  const known = new Map<string, boolean>();
  const hasGlyphs = (family: Family, cluster: string): boolean => {
    const key = `${family} ${cluster}`;
    const font = () => select(family, 'regular', 10);
    const has = known.get(key) ?? [...cluster].every((char) => isJoiner(char) || fontHas(font(), char));
    known.set(key, has);
    return has;
  };

  /** Breaks a text into lines of at most `width`; text beyond `maxLines` is replaced by an ellipsis. */
  const set = (
    text: string,
    width: number,
    { size, weight = 'regular', color = '#1f2933' }: TextStyle,
    maxLines = Infinity,
  ): Block => {
    const style = { size, weight, color };
    const lines = text
      .replace(/\r\n?/g, '\n')
      .replace(controls, ' ')
      .toWellFormed()
      .split('\n')
      .flatMap((paragraph) => setParagraph(paragraph, width, style));
    const shown = lines.slice(0, maxLines);
    const last = shown.at(-1);
    if (lines.length > maxLines && last) shown[shown.length - 1] = shortened(last, width, style);
    const lineHeight = size * leading;
    return { ...style, lines: shown, lineHeight, height: shown.length * lineHeight };
  };

  const setParagraph = (text: string, width: number, style: FullStyle): Line[] => {
    const { levels, paragraphs } = bidi.getEmbeddingLevels(text);
    const base = paragraphs[0]?.level ?? 0;
    const pieces = piecesOf(text, levels);
    const lines: Line[] = [];
    let [start, used] = [0, 0];
    const close = (until: number) => {
      lines.push(lineOf(pieces.slice(start, until), base, style));
      [start, used] = [until, 0];
    };
    for (const token of brokenTokens(pieces, width, (from, to) => lengthOf(pieces.slice(from, to), style))) {
      if (token.start > start && !token.isSpace && used + token.width > width) close(token.start);
      used += token.width;
    }
    close(pieces.length);
    return lines;
  };

  /** The graphemes of a text, each with its font family and bidi level. */
  const piecesOf = (text: string, levels: Uint8Array): Piece[] => {
    const order = familyOrder(text, language);
    let family: Family = 'latin';
    return [...clusters.segment(text)].map(({ segment, index }) => {
      const keeps = family !== 'emoji' && neutral.test(segment) && hasGlyphs(family, segment);
      if (!keeps) family = order.find((candidate) => hasGlyphs(candidate, segment)) ?? 'latin';
      return { text: segment, family, level: levels[index] ?? 0 };
    });
  };

  const lengthOf = (pieces: readonly Piece[], style: FullStyle): number =>
    runsOf(pieces).reduce((sum, run) => sum + widthOf(run.text, run, style), 0);

  const lineOf = (pieces: readonly Piece[], base: number, style: FullStyle): Line => {
    const runs = inVisualOrder(trimRuns(runsOf(pieces))).map((run) => ({
      ...run,
      width: widthOf(run.text, run, style),
    }));
    return { runs, width: runs.reduce((sum, run) => sum + run.width, 0), isRightToLeft: base % 2 === 1 };
  };

  const shortened = (line: Line, width: number, style: FullStyle): Line => {
    const dots: Run = {
      text: '…',
      family: 'latin',
      level: line.isRightToLeft ? 1 : 0,
      width: widthOf('…', { family: 'latin', level: 0 }, style),
    };
    const runs = [...line.runs];
    // Right-to-left text ends on the left.
    const at = line.isRightToLeft ? 0 : -1;
    let total = line.width;
    while (runs.length > 0 && total + dots.width > width) {
      const run = runs.at(at);
      if (!run) break;
      const rest = [...clusters.segment(run.text)]
        .slice(0, -1)
        .map(({ segment }) => segment)
        .join('');
      const next = { ...run, text: rest, width: rest === '' ? 0 : widthOf(rest, run, style) };
      total += next.width - run.width;
      if (rest === '') runs.splice(at, 1);
      else runs.splice(at, 1, next);
    }
    return {
      runs: line.isRightToLeft ? [dots, ...runs] : [...runs, dots],
      width: total + dots.width,
      isRightToLeft: line.isRightToLeft,
    };
  };

  return {
    set,
    /** Draws lines below each other; `align` defaults to the direction of the text. */
    draw(
      block: Block,
      x: number,
      y: number,
      { width, align }: { width: number; align?: 'left' | 'right' | 'center' },
    ): void {
      for (const [index, line] of block.lines.entries()) {
        const side = align ?? (line.isRightToLeft ? 'right' : 'left');
        let at = x + (side === 'right' ? width - line.width : side === 'center' ? (width - line.width) / 2 : 0);
        const baseline = y + index * block.lineHeight + block.size * 1.08;
        for (const run of line.runs) {
          const shown = run.level % 2 === 1 ? mirrored(run.text) : run.text;
          select(run.family, block.weight, block.size).fillColor(block.color);
          doc.text(shown, at, baseline, { lineBreak: false, baseline: 'alphabetic', ...featuresOf(shown, run.level) });
          at += run.width;
        }
      }
    },
  };
}

export type Typesetter = ReturnType<typeof createTypesetter>;

interface Piece {
  text: string;
  family: Family;
  level: number;
}

/** With any font feature the library lays out a run as a whole, and then orders right-to-left runs itself. */
function featuresOf(text: string, level: number): { features?: PDFKit.Mixins.OpenTypeFeatures[] } {
  return level % 2 === 1 && strongRightToLeft.test(text) ? { features: ['rtla'] } : {};
}

/** Characters that choose how another one is drawn, and have no glyph of their own. */
const isJoiner = (char: string): boolean => /^(?:\u200c|\u200d|\p{Variation_Selector}|\p{Emoji_Modifier})$/u.test(char);

/** The document's current font, a private field of the library. */
function fontHas(doc: PDFKit.PDFDocument, char: string): boolean {
  const { _font } = doc as unknown as { _font: { font: { hasGlyphForCodePoint(code: number): boolean } } };
  return _font.font.hasGlyphForCodePoint(char.codePointAt(0) ?? 0);
}

function runsOf(pieces: readonly Piece[]): Omit<Run, 'width'>[] {
  const runs: Omit<Run, 'width'>[] = [];
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last && last.family === piece.family && last.level === piece.level) last.text += piece.text;
    else runs.push({ text: piece.text, family: piece.family, level: piece.level });
  }
  return runs;
}

/** Drops white space at both ends of a line. */
function trimRuns(runs: Omit<Run, 'width'>[]): Omit<Run, 'width'>[] {
  const [first, last] = [runs[0], runs.at(-1)];
  if (first) first.text = first.text.trimStart();
  if (last) last.text = last.text.trimEnd();
  return runs.filter(({ text }) => text !== '');
}

/**
 * UAX #9, rule L2: from the highest level down to the lowest odd one, reverses each sequence at that level or above.
 */
function inVisualOrder<T extends { level: number }>(runs: readonly T[]): T[] {
  const ordered = [...runs];
  const highest = Math.max(0, ...runs.map(({ level }) => level));
  for (let level = highest; level > 0; level -= 1)
    for (let start = 0; start < ordered.length; start += 1) {
      let end = start;
      while (end < ordered.length && (ordered[end]?.level ?? 0) >= level) end += 1;
      if (end - start > 1) ordered.splice(start, end - start, ...ordered.slice(start, end).reverse());
      start = Math.max(start, end);
    }
  return ordered;
}

function mirrored(text: string): string {
  const turned = [...text].map((char) => bidi.getMirroredCharacter(char) ?? char);
  return strongRightToLeft.test(text) ? turned.join('') : turned.reverse().join('');
}

/** A part of a line, by the number of its first piece. */
interface Token {
  start: number;
  width: number;
  isSpace: boolean;
}

const isSpace = ({ text }: Piece): boolean => /^\s+$/.test(text);

/**
 * Whether a line may end between two pieces: beside white space, and around each character of scripts without spaces,
 * but not before closing marks.
 */
function mayEndBetween(one: Piece, next: Piece): boolean {
  if (isSpace(one) || isSpace(next)) return isSpace(one) !== isSpace(next);
  if (closingMarks.test(next.text)) return false;
  return [one, next].some(({ text }) => scriptsWithoutSpaces.test(text)) || closingMarks.test(one.text);
}

/** The parts between possible line ends; a word that is wider than a line is cut between graphemes. */
function* brokenTokens(
  pieces: readonly Piece[],
  width: number,
  lengthOf: (start: number, end: number) => number,
): Generator<Token> {
  let first = 0;
  for (const [last, piece] of pieces.entries()) {
    const end = last + 1;
    const next = pieces[end];
    if (next && !mayEndBetween(piece, next)) continue;
    const token = { start: first, width: lengthOf(first, end), isSpace: isSpace(piece) };
    if (token.width <= width || token.isSpace) yield token;
    else yield* cutWord(first, end, width, lengthOf);
    first = end;
  }
}

function* cutWord(
  from: number,
  to: number,
  width: number,
  lengthOf: (start: number, end: number) => number,
): Generator<Token> {
  let [start, used] = [from, 0];
  for (let at = from; at < to; at += 1) {
    const own = lengthOf(at, at + 1);
    if (at > start && used + own > width) {
      yield { start, width: used, isSpace: false };
      [start, used] = [at, 0];
    }
    used += own;
  }
  yield { start, width: used, isSpace: false };
}
