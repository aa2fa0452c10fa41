import type { TextListener } from '../../ai/json-text-stream.ts';
import { formatEvent, heartbeatComment, startHeartbeat } from '../server/server-sent-events.ts';
import { bodyText } from '../server/write-response.ts';
import { weighted } from '../weighted.ts';
import type { Outcome } from './route.ts';

export const eventStreamMediaType = 'text/event-stream';

/** Media ranges that the usual reply fits, the most specific first. */
const jsonRanges = ['application/json', 'application/*', '*/*'];

/** Whether the caller names server-sent events in Accept (RFC 9110 §12.5.1), and prefers none to them. */
export function acceptsEventStream(accept: string | undefined): boolean {
  const weights = new Map(weighted(accept).map(({ name, weight }) => [name, weight]));
  const range = jsonRanges.find((name) => weights.has(name)) ?? '';
  const weight = weights.get(eventStreamMediaType) ?? 0;
  return weight > 0 && weight >= (weights.get(range) ?? 0);
}

/**
 * Streams a reply as server-sent events while it is written: `text` for new text, `restart` if the text so far is
 * withdrawn, and at the end `reply` with the usual body, or `error` with `errorBody`. An error before the first text is
 * an ordinary refusal. The work goes on if the client disconnects.
 */
export async function streamReply(
  handle: (reader: TextListener) => Promise<Outcome>,
  errorBody: (error: unknown) => string,
): Promise<Outcome> {
  const pendingEvents: string[] = [];
  let send = (event: string): void => void pendingEvents.push(event);
  let hasStarted = false;
  let signalStart: () => void = () => undefined;
  const started = new Promise<void>((resolve) => (signalStart = resolve));
  const pending = handle({
    onText(words) {
      hasStarted = true;
      send(formatEvent({ type: 'text', text: JSON.stringify({ text: words }) }));
      signalStart();
    },
    onRestart: () => void (hasStarted && send(formatEvent({ type: 'restart', text: '{}' }))),
  });
  await Promise.race([started, pending]);
  const lastEvent = pending.then(bodyText).then(
    (text) => formatEvent({ type: 'reply', text }),
    (error: unknown) => formatEvent({ type: 'error', text: errorBody(error) }),
  );
  return {
    kind: 'events',
    async begin(body) {
      for (const event of pendingEvents) body.write(event);
      send = (event) => void body.write(event);
      startHeartbeat(body, () => body.write(heartbeatComment));
      body.write(await lastEvent);
      body.end();
    },
  };
}
