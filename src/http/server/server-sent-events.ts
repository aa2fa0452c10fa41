import type { StreamingBody } from './reply.ts';

/** uWS cuts a quiet connection after about ten seconds. */
const heartbeatMs = 5000;

/** Formats a server-sent event; `text` is JSON, which has no line breaks. */
export const formatEvent = ({ type, text, cursor }: { type: string; text: string; cursor?: string }): string =>
  `${cursor === undefined ? '' : `id: ${cursor}\n`}event: ${type}\ndata: ${text}\n\n`;

/** A comment, which clients ignore. */
export const heartbeatComment = ':\n\n';

/** Calls `sendHeartbeat` every five seconds while the body is open. */
export function startHeartbeat(body: StreamingBody, sendHeartbeat: () => void): void {
  const timer = setInterval(sendHeartbeat, heartbeatMs);
  body.onEnd(() => clearInterval(timer));
}
