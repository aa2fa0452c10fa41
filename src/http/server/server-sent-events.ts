import type { StreamingBody } from './reply.ts';

/** The server cuts a quiet connection after about ten seconds, so there is a sign of life more often. */
const heartbeatMs = 5000;

/** One server-sent event; `text` is JSON, which has no line breaks. */
export const formatEvent = ({ type, text, cursor }: { type: string; text: string; cursor?: string }): string =>
  `${cursor === undefined ? '' : `id: ${cursor}\n`}event: ${type}\ndata: ${text}\n\n`;

/** A comment, of which clients take no notice. */
export const heartbeatComment = ':\n\n';

/** Calls `beat` often enough for as long as the body is open. */
export function startHeartbeat(body: StreamingBody, sendHeartbeat: () => void): void {
  const timer = setInterval(sendHeartbeat, heartbeatMs);
  body.onEnd(() => clearInterval(timer));
}
