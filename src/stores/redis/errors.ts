import { unavailable } from '../../errors.ts';
import { connectionErrorCodes } from '../../platform/connection-errors.ts';

/**
 * Error replies of a Redis that cannot serve now: it loads, is busy, may not write, has no memory, or changes its role.
 */
const unavailableReplies =
  /^(LOADING|BUSY|MISCONF|OOM|NOREPLICAS|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|EXECABORT)\b/;
/** Replies to a client that may not use the command. Of a script, the steps before the denied one were carried out. */
const deniedReplies = /^(NOAUTH\b|NOPERM (?!ACL failure in script))/;
/** The client's error for a command that it has not sent, as it has no connection. */
const notSentMessage = "Stream isn't writeable";
/** Errors of the client when no server answers. */
const connectionMessages = [
  'Command timed out',
  'Connection is closed.',
  notSentMessage,
  'Command aborted due to connection close',
];
const connectionCodes: ReadonlySet<string> = new Set([...connectionErrorCodes, 'NR_CLOSED']);

/** Whether an error means that Redis is unavailable, not that the command is wrong. */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'MaxRetriesPerRequestError' || error.name === 'ClusterAllFailedError') return true;
  if ('code' in error && typeof error.code === 'string' && connectionCodes.has(error.code)) return true;
  return (
    unavailableReplies.test(error.message) ||
    connectionMessages.some((beginning) => error.message.startsWith(beginning))
  );
}

/** Whether a command that failed was certainly not carried out: it was not sent, or Redis refused it. */
export const wasNotCarriedOut = (error: unknown): boolean =>
  error instanceof Error &&
  (error.message.startsWith(notSentMessage) ||
    unavailableReplies.test(error.message) ||
    deniedReplies.test(error.message));

/** Makes what awaits a command; its failure is SERVICE_UNAVAILABLE with this message. */
export const failingWith =
  (message: string) =>
  async <T>(command: Promise<T>): Promise<T> => {
    try {
      return await command;
    } catch (error) {
      throw unavailable(message, 2, error);
    }
  };
