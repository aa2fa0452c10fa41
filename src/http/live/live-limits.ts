/** What one live connection may take, and when it ends; the reference tells these to clients. */
export const liveLimits = {
  subscriptions: 100,
  frameBytes: 16 * 1024,
  /** Messages at once, and how much more each second. */
  burst: 200,
  perSecond: 20,
  /** So many refused for their number, and the connection ends. */
  maxRefusedMessages: 500,
  /** Without any sign of life; uWS takes 0 or 8–960 and ends the process on anything else. */
  idleSeconds: 60,
  /** An event stream whose client takes nothing for so long is cut off. */
  stalledSeconds: 60,
  /** How often rights are looked at again without any news. */
  checkSeconds: 20,
  /** Clients come back spread over so long after a stop, not all at once. */
  reconnectWithinMs: 3000,
} as const;
