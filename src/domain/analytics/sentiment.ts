/** What an answer feels like; mixed where it praises and complains. */
export const sentiments = ['positive', 'negative', 'neutral', 'mixed'] as const;
export type Sentiment = (typeof sentiments)[number];
