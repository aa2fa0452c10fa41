/** Limits of one live connection; the reference documents them. */
export const liveLimits = {
  subscriptions: 100,
  frameBytes: 16 * 1024,
  /** Size of the token bucket for messages, and its refill each second. */
  burst: 200,
  perSecond: 20,
  /** Characters of the messages that wait for their turn. */
  waitingCharacters: 64 * 1024,
  /** The connection is closed after this many messages that were refused for their number. */
  maxRefusedMessages: 500,
  /** Time without any sign of life. uWS takes 0 or 8–960 and ends the process on anything else. */
  idleSeconds: 60,
  /** An event stream is cut if its client takes nothing for this long. */
  stalledSeconds: 60,
  /** Interval of the periodic rights check. */
  checkSeconds: 20,
  /** After a stop, clients reconnect spread over this time. */
  reconnectWithinMs: 3000,
} as const;
