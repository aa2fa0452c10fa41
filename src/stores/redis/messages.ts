import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';

/** Short news between processes. They may be lost: whoever needs certainty asks the store that holds the truth. */
export interface Messages {
  publish(channel: string, message: Readonly<Record<string, unknown>>): void;
  subscribe(channel: string, listener: (message: Record<string, unknown>) => void): Promise<void>;
  /** Tells, once messages come in again, that some may have been lost. */
  onGap(tell: () => void): void;
}

export function createMessages({ sender, listener, log }: { sender: Redis; listener: Redis; log: Log }): Messages {
  const listeners = new Map<string, ((message: Record<string, unknown>) => void)[]>();
  const gapListeners: (() => void)[] = [];
  // The client subscribes again by itself before it says so; the answer to one more subscription comes when it is done.
  listener.on('ready', () => {
    const [channel] = listeners.keys();
    if (channel === undefined) return;
    void listener.subscribe(channel).then(() => gapListeners.forEach((tell) => tell()), (error: unknown) => log.debug({ err: error }, 'messages do not come in yet'));
  });
  listener.on('message', (channel: string, text: string) => {
    try {
      const message = JSON.parse(text) as Record<string, unknown>;
      for (const tell of listeners.get(channel) ?? []) tell(message);
    } catch (error) {
      log.warn({ err: error, channel }, 'a message could not be read');
    }
  });
  return {
    publish: (channel, message) => void sender.publish(channel, JSON.stringify(message)).catch((error: unknown) => log.debug({ err: error, channel }, 'a message was not sent')),
    async subscribe(channel, tell) {
      const known = listeners.get(channel);
      if (known) return void known.push(tell);
      listeners.set(channel, [tell]);
      await listener.subscribe(channel);
    },
    onGap: (tell) => void gapListeners.push(tell),
  };
}
