/** Maximum length of a cell's text in UTF-16 units. */
const maxCharacters = 32_767;
// Characters that XML 1.0 forbids, even escaped.
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** A text that fits into a cell: without forbidden characters, cut between characters at 32,767 UTF-16 units. */
export function cellText(text: string): string {
  const allowed = text.toWellFormed().replace(forbidden, '');
  if (allowed.length <= maxCharacters) return allowed;
  const cut = allowed.slice(0, maxCharacters);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };

/** Escapes for XML, and escapes texts like _x0041_, which spreadsheets would read as a character. */
export function xmlText(text: string): string {
  return cellText(text)
    .replace(/[&<>\r]/g, (char) => escapes[char] ?? char)
    .replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_');
}
