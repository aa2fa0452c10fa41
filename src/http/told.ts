import type { Reader } from '../ai/said-words.ts';
import { bodyText } from './answer.ts';
import { eventText, keepAlive, signOfLife } from './event-text.ts';
import type { Outcome } from './route.ts';

export const eventsType = 'text/event-stream';

/** Whether the caller wants to read along. */
export const wantsEvents = (accept = ''): boolean => accept.split(',').some((range) => range.split(';')[0]?.trim().toLowerCase() === eventsType);

/**
 * A reply that is told while it is written: words as events `text`, `restart` where those so far are withdrawn, and at the end `reply` with the usual body, or
 * `error` with what `refusal` makes of it. Who fails before a word was said has a plain reply. The work goes on when the client goes away, as it does without words.
 */
export async function told(handle: (reader: Reader) => Promise<Outcome>, refusal: (error: unknown) => string): Promise<Outcome> {
  const waiting: string[] = [];
  let say = (event: string): void => void waiting.push(event);
  let isBegun = false;
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const work = handle({
    wrote(words) {
      isBegun = true;
      say(eventText({ type: 'text', text: JSON.stringify({ text: words }) }));
      begin();
    },
    again: () => void (isBegun && say(eventText({ type: 'restart', text: '{}' }))),
  });
  await Promise.race([begun, work]);
  const last = work.then(bodyText).then((text) => eventText({ type: 'reply', text }), (error: unknown) => eventText({ type: 'error', text: refusal(error) }));
  return {
    kind: 'events',
    async begin(body) {
      for (const event of waiting) body.write(event);
      say = (event) => void body.write(event);
      keepAlive(body, () => body.write(signOfLife));
      body.write(await last);
      body.end();
    },
  };
}
