/** The used internals of the PDF library's fonts, which its types do not declare. */
interface Positioner {
  applyLookup(type: number, table: unknown): boolean;
  applyAnchor(mark: { markAnchor: unknown }, baseAnchor: unknown, baseIndex: number): void;
}

interface ShapingFont {
  /** `GPOSProcessor` is null in fonts that place no glyph by a table. */
  _layoutEngine: { engine?: { GPOSProcessor: Positioner | null } };
}

const patchedFonts = new WeakSet<object>();

/**
 * A font may have no place on a letter for marks of a class, such as the signs for pauses in the Qur'an. By OpenType a
 * table without the place does not apply, and the next one is tried; the library reads the missing place and throws.
 * Called once for the document's current font.
 */
export function skipMissingAnchors(doc: PDFKit.PDFDocument): void {
  const { font } = (doc as unknown as { _font: { font: ShapingFont } })._font;
  if (patchedFonts.has(font)) return;
  patchedFonts.add(font);
  const positioner = font._layoutEngine.engine?.GPOSProcessor;
  if (!positioner) return;
  const applyLookup = positioner.applyLookup.bind(positioner);
  const applyAnchor = positioner.applyAnchor.bind(positioner);
  let isMissing = false;
  positioner.applyAnchor = (mark, baseAnchor, baseIndex) => {
    isMissing = !baseAnchor || !mark.markAnchor;
    if (!isMissing) applyAnchor(mark, baseAnchor, baseIndex);
  };
  positioner.applyLookup = (type, table) => {
    isMissing = false;
    const isApplied = applyLookup(type, table) && !isMissing;
    isMissing = false;
    return isApplied;
  };
}
