import { cutText } from './cut-text.ts';

/** Maximum length of a cell's text in UTF-16 units. */
const maxCharacters = 32_767;
// Characters that XML 1.0 forbids, even escaped.
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/**
 * A text as a cell has it: without forbidden characters, cut between characters at 32,767 UTF-16 units, and with texts
 * like _x0041_ escaped, which spreadsheets would read as a character (ECMA-376, part 1, 22.9.2.19).
 */
export function cellText(text: string): string {
  return cutText(text.toWellFormed().replace(forbidden, ''), maxCharacters).replace(
    /_(?=x[0-9A-Fa-f]{4}_)/g,
    '_x005F_',
  );
}

/** The text that a cell stands for: its escapes like _x0041_ are characters. */
export const textOfCell = (cell: string): string =>
  cell.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };

/** The text of a cell, escaped for XML. */
export const xmlText = (text: string): string => cellText(text).replace(/[&<>\r]/g, (char) => escapes[char] ?? char);
