import { unavailable } from '../../errors.ts';
import { connectionErrorCodes } from '../../platform/connection-errors.ts';

/**
 * Error replies of a Redis that cannot serve now: it loads, is busy, may not write, has no memory, or changes its role.
 */
const unavailableReplies =
  /^(LOADING|BUSY|MISCONF|OOM|NOREPLICAS|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|EXECABORT)\b/;
/** Errors of the client when no server answers. */
const connectionMessages = [
  'Command timed out',
  'Connection is closed.',
  "Stream isn't writeable",
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
