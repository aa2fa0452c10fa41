/** A combining grapheme joiner, across which no mark moves. */
const joiner = '\u034f';
const thirtyMarksOfMore = /\p{M}{30}(?=\p{M})/gu;

/**
 * A text in NFC, in a time that grows with its length. Putting marks that follow one another into their order takes time
 * by the square of their number, so every thirty are kept apart, counted as they are given: with more in turn, the same
 * text in NFC and in NFD may stay different, and a result differs when it is composed again.
 */
export const composed = (text: string): string => text.replace(thirtyMarksOfMore, `$&${joiner}`).normalize('NFC');
