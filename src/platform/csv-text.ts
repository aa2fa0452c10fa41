/** A text as a CSV cell. */
export const csvText = (text: string): string => delimitedText(text, ',');

/** A text as a cell of lines with this delimiter, quoted as in CSV. */
export const delimitedText = (text: string, delimiter: string): string => quoted(safeText(text), delimiter);

/** JSON as a CSV cell, without semicolons, which some spreadsheets read as the end of a cell. */
export const csvJson = (json: string): string => quoted(json.replaceAll(';', '\\u003b'), ',');

const dangerous = /^'*[=+\-@\t\r\n\0＝＋－＠]/;
/**
 * Where a spreadsheet may begin a cell inside a quoted text: some use semicolons or tabs as separators, and then ignore
 * quotation marks within a line.
 */
const dangerousInside = /([;\t\r\n])(["']*[=+\-@\0＝＋－＠])/g;
const smiley = /([;\t\r\n])'-\)/g;

/**
 * Puts an apostrophe before text that a spreadsheet would run as a formula (OWASP, “CSV Injection”), also after a
 * semicolon, tab or line end within a text; ";-)" is no formula. A text that already has apostrophes there gets one
 * more, so that removing one in each of these places restores exactly what was submitted.
 */
export function safeText(text: string): string {
  return (dangerous.test(text) ? `'${text}` : text).replace(dangerousInside, "$1'$2").replace(smiley, '$1-)');
}

const guarded = /^'('*[=+\-@\t\r\n\0＝＋－＠])/;
const guardedInside = /([;\t\r\n])'(["']*[=+\-@\0＝＋－＠])/g;

/** Takes the apostrophes of `safeText` away again. */
export function unguardedText(text: string): string {
  return text.replace(guardedInside, '$1$2').replace(guarded, '$1');
}

const special = /["\r\n]/;

function quoted(text: string, delimiter: string): string {
  return special.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
}
