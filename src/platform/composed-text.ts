/** A combining grapheme joiner, across which no mark moves. */
const joiner = '\u034f';
const thirtyMarksOfMore = /\p{M}{30}(?=\p{M})/gu;

/**
 * A text in NFC, in a time that grows with its length. Putting marks that follow one another into their order takes time
 * by the square of their number, so every thirty are kept apart (UAX #15, Stream-Safe Text Format).
 */
export const composed = (text: string): string => text.replace(thirtyMarksOfMore, `$&${joiner}`).normalize('NFC');
