/** What Redis says when it cannot serve now: it starts, is busy, may not write, has no room, or changes its role. */
const unavailableReplies =
  /^(LOADING|BUSY|MISCONF|OOM|NOREPLICAS|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|EXECABORT)\b/;
/** What the client says when nobody answers. */
const connectionMessages = [
  'Command timed out',
  'Connection is closed.',
  "Stream isn't writeable",
  'Command aborted due to connection close',
];
const connectionCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EMFILE',
  'ENFILE',
  'NR_CLOSED',
]);

/** Whether an error says "away", not "wrong". */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'MaxRetriesPerRequestError' || error.name === 'ClusterAllFailedError') return true;
  if ('code' in error && typeof error.code === 'string' && connectionCodes.has(error.code)) return true;
  return (
    unavailableReplies.test(error.message) || connectionMessages.some((silence) => error.message.startsWith(silence))
  );
}
