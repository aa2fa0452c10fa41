/** Sentiment of an answer; `mixed`: both praise and complaint. */
export const sentiments = ['positive', 'negative', 'neutral', 'mixed'] as const;
export type Sentiment = (typeof sentiments)[number];
