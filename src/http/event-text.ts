import type { OpenBody } from './reply.ts';

/** The server cuts a quiet connection after about ten seconds, so there is a sign of life more often. */
const heartbeatMs = 5000;

/** One server-sent event; `text` is JSON, which has no line breaks. */
export const eventText = ({ type, text, cursor }: { type: string; text: string; cursor?: string }): string =>
  `${cursor === undefined ? '' : `id: ${cursor}\n`}event: ${type}\ndata: ${text}\n\n`;

/** A comment, of which clients take no notice. */
export const signOfLife = ':\n\n';

/** Calls `beat` often enough for as long as the body is open. */
export function keepAlive(body: OpenBody, beat: () => void): void {
  const heart = setInterval(beat, heartbeatMs);
  body.onEnd(() => clearInterval(heart));
}
