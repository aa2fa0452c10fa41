import { composed } from '../../platform/composed-text.ts';

/**
 * A text for comparison: NFC, full case folding (Unicode, CaseFolding.txt, statuses C and F: ß = ss, ς = σ), trimmed.
 * JavaScript has no folding of its own. Lower, upper and lower case in turn make the same texts equal, but for the
 * letters below.
 */
export function folded(text: string): string {
  const trimmed = text.trim();
  if (isPlain.test(trimmed)) return trimmed.toLowerCase();
  return composed(trimmed)
    .split(dotlessI)
    .map((part) => part.toLowerCase().toUpperCase().toLowerCase().replaceAll(finalSigma, 'σ'))
    .join(dotlessI)
    .normalize('NFC');
}

/** V8 searches for longer texts in a time that grows with the product of both lengths, for others with their sum. */
const searchedNatively = 250;

/** Whether a text has another in it, which holds no NUL. The time grows with the sum of their lengths. */
export function containsText(text: string, wanted: string): boolean {
  if (wanted.length <= searchedNatively) return text.includes(wanted);
  // Knuth, Morris and Pratt: a border is the longest proper beginning that also ends the part read so far.
  const joined = `${wanted}\0${text}`;
  const borders = new Uint16Array(joined.length);
  let border = 0;
  for (let end = 1; end < joined.length; end += 1) {
    const unit = joined.charCodeAt(end);
    while (border > 0 && joined.charCodeAt(border) !== unit) border = borders[border - 1] as number;
    if (joined.charCodeAt(border) === unit) border += 1;
    if (border === wanted.length) return true;
    borders[end] = border;
  }
  return false;
}

const isPlain = /^[ -~]*$/;
/** Its upper case is I, but it does not fold to i. */
const dotlessI = 'ı';
/** Lower case depends on its place in a word; folding does not. */
const finalSigma = 'ς';
