import PDFDocument from 'pdfkit';
import { directionOf } from '../../../domain/translation/languages.ts';
import { type Block, createTypesetter, type TextStyle, type Typesetter } from './text.ts';

/** A4 in points, with margins. */
export const page = { width: 595.28, height: 841.89, left: 50, right: 545.28, top: 50, bottom: 785 } as const;
export const contentWidth = page.right - page.left;

/**
 * The page and the position of the next element. Positions are given as for left-to-right languages; for right-to-left
 * languages everything is mirrored.
 */
export interface Sheet {
  y: number;
  /** Begins a new page unless this height is left. */
  ensure(height: number): void;
  nextPage(): void;
  gap(height: number): void;
  /** Writes a text over the full width, on several pages if it is long. */
  write(text: string, style: TextStyle): void;
  /** Writes small texts side by side on as many lines as needed, each with a coloured mark if given. */
  flow(items: readonly { text: string; mark?: string }[], style: TextStyle): void;
  set: Typesetter['set'];
  /** `align` defaults to the side where lines begin. */
  draw: Typesetter['draw'];
  /** Draws lines and areas on the page. */
  shapes(paint: (doc: PDFKit.PDFDocument) => void): void;
  doc: PDFKit.PDFDocument;
}

const opposite = { left: 'right', right: 'left', center: 'center' } as const;
const across = page.left + page.right;

/** The first page of a new document in this language. */
export function openSheet({ title, language, createdAt }: { title: string; language: string; createdAt: Date }): Sheet {
  const doc = new PDFDocument({
    size: 'A4',
    margin: 0,
    bufferPages: true,
    autoFirstPage: true,
    info: { Title: title, Creator: 'survey-service', CreationDate: createdAt },
  });
  return createSheet(doc, createTypesetter(doc, language), { isRightToLeft: directionOf(language) === 'rtl' });
}

export function createSheet(
  doc: PDFKit.PDFDocument,
  typesetter: Typesetter,
  { isRightToLeft }: { isRightToLeft: boolean },
): Sheet {
  const sheet: Sheet = {
    y: page.top,
    doc,
    set: typesetter.set,
    draw(block, x, y, { width, align }) {
      if (isRightToLeft) typesetter.draw(block, across - x - width, y, { width, align: opposite[align ?? 'left'] });
      else typesetter.draw(block, x, y, align === undefined ? { width } : { width, align });
    },
    shapes(paint) {
      if (!isRightToLeft) return paint(doc);
      doc.save().transform(-1, 0, 0, 1, across, 0);
      paint(doc);
      doc.restore();
    },
    ensure(height) {
      if (sheet.y + height > page.bottom && sheet.y > page.top) sheet.nextPage();
    },
    nextPage() {
      releaseContent(doc);
      doc.addPage();
      sheet.y = page.top;
    },
    gap(height) {
      sheet.y += height;
    },
    write(text, style) {
      const block = typesetter.set(text, contentWidth, style);
      for (const line of block.lines) {
        sheet.ensure(block.lineHeight);
        sheet.draw({ ...block, lines: [line] } satisfies Block, page.left, sheet.y, { width: contentWidth });
        sheet.y += block.lineHeight;
      }
    },
    flow(items, style) {
      const markWidth = 13;
      const gap = 14;
      let used = 0;
      for (const { text, mark } of items) {
        const block = typesetter.set(text, contentWidth - markWidth, style, 1);
        const lead = mark === undefined ? 0 : markWidth;
        const width = lead + (block.lines[0]?.width ?? 0);
        if (used > 0 && used + width > contentWidth) {
          sheet.y += block.lineHeight + 2;
          used = 0;
        }
        sheet.ensure(block.lineHeight);
        const left = page.left + used;
        if (mark !== undefined) sheet.shapes(() => doc.rect(left, sheet.y + 2, 9, 9).fill(mark));
        sheet.draw(block, left + lead, sheet.y, { width: width - lead, align: 'left' });
        used += width + gap;
      }
      sheet.y += style.size * 1.6;
    },
  };
  return sheet;
}

/**
 * Compresses what is drawn on the current page: a page of a large table takes half a megabyte before. What is drawn on
 * the page later, its number, goes into a second stream, which readers take as the rest of the first.
 */
function releaseContent(doc: PDFKit.PDFDocument): void {
  const { page } = doc;
  const rest = doc.ref({});
  page.content.end(undefined);
  Object.assign(page.dictionary.data, { Contents: [page.content, rest] });
  page.content = rest;
}
