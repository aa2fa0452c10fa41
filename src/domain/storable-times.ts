/** The years that every store can hold. */
const earliestTimeMs = Date.parse('0001-01-01T00:00:00.000Z');
export const latestTimeMs = Date.parse('9999-12-31T23:59:59.999Z');
export const isStorableTime = (ms: number): boolean => ms >= earliestTimeMs && ms <= latestTimeMs;
export const notStorableTimeMessage = 'must lie in the years 1 to 9999';
