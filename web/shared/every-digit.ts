/** Shows every digit that a number of a survey can have after the point, where the default rounds to three. */
export const everyDigit = { maximumFractionDigits: 20 } as const;
