/** The used internals of the PDF library's glyphs and fonts, which its types do not declare. */
interface Glyph {
  id: number;
  advanceWidth: number;
  codePoints: readonly number[];
}

interface ShapingFont {
  getGlyph(id: number, codePoints?: readonly number[]): Glyph | null;
  layout(text: string, features?: unknown, script?: string, language?: string, direction?: 'ltr' | 'rtl'): unknown;
}

interface EmbeddedFont {
  font: ShapingFont;
  subset: { glyphs: number[]; includeGlyph(id: number): number; cff?: unknown };
  unicode: (readonly number[] | undefined)[];
  widths: (number | undefined)[];
  scale: number;
  layout(text: string, features?: unknown): { glyphs: readonly Glyph[]; positions: readonly unknown[] };
  encode(text: string, features?: unknown): [codes: string[], positions: readonly unknown[]];
}

const patchedFonts = new WeakSet<object>();

/**
 * Makes text in the file searchable and copyable. One glyph can stand for several letters: Arabic fonts draw letters
 * that differ in their dots as one body with separate dots, and the library would map the body to the letter of its
 * first use in the whole file. Here each letter gets its own code for the glyph, which the font then contains several
 * times. Numbers in Arabic digits are kept in order. Called once for the document's current font.
 */
export function preserveTextMapping(doc: PDFKit.PDFDocument): void {
  const { _font: embedded } = doc as unknown as { _font: EmbeddedFont };
  // Only TrueType outlines are copied into the file one by one.
  if (patchedFonts.has(embedded) || embedded.subset.cff !== undefined) return;
  patchedFonts.add(embedded);
  separateSharedGlyphs(embedded.font);
  keepDigitsInOrder(embedded.font);
  const codes = new Map<string, number>();
  const codeOf = (glyph: Glyph): number => {
    const key = `${glyph.id} ${glyph.codePoints.join(' ')}`;
    let code = codes.get(key);
    if (code === undefined) {
      const first = embedded.subset.includeGlyph(glyph.id);
      code = embedded.unicode[first] === undefined ? first : embedded.subset.glyphs.push(glyph.id) - 1;
      codes.set(key, code);
      embedded.unicode[code] = glyph.codePoints;
      embedded.widths[code] = glyph.advanceWidth * embedded.scale;
    }
    return code;
  };
  embedded.encode = (text, features) => {
    const { glyphs, positions } = embedded.layout(text, features);
    return [glyphs.map((glyph) => codeOf(glyph).toString(16).padStart(4, '0')), positions];
  };
}

/**
 * The library keeps one object for each glyph, with the letters of its first use; other letters get their own object.
 */
function separateSharedGlyphs(font: ShapingFont): void {
  const getGlyph = font.getGlyph.bind(font);
  font.getGlyph = (id, codePoints = []) => {
    const kept = getGlyph(id, codePoints);
    if (!kept || isSame(kept.codePoints, codePoints)) return kept;
    return Object.create(kept, { codePoints: { value: codePoints } }) as Glyph;
  };
}

const rightToLeftLetter = /(?!\p{Nd})[\p{Script=Arabic}\p{Script=Hebrew}]/u;

/** Numbers run from left to right in every script, but the library draws runs of Arabic digits from right to left. */
function keepDigitsInOrder(font: ShapingFont): void {
  const layout = font.layout.bind(font);
  font.layout = (text, features) =>
    rightToLeftLetter.test(text) ? layout(text, features) : layout(text, features, undefined, undefined, 'ltr');
}

const isSame = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index]);
