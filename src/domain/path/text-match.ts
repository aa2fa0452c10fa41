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

const isPlain = /^[ -~]*$/;
/** Its upper case is I, but it does not fold to i. */
const dotlessI = 'ı';
/** Lower case depends on its place in a word; folding does not. */
const finalSigma = 'ς';
