import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';

/** Short news between processes. They may be lost: whoever needs certainty asks the store that holds the truth. */
export interface PubSub {
  publish(channel: string, message: Readonly<Record<string, unknown>>): void;
  subscribe(channel: string, listener: (message: Record<string, unknown>) => void): Promise<void>;
  /** Tells, once messages come in again, that some may have been lost. */
  onReconnect(tell: () => void): void;
}

export function createPubSub({
  publisher,
  subscriber,
  log,
}: {
  publisher: Redis;
  subscriber: Redis;
  log: Log;
}): PubSub {
  const listeners = new Map<string, ((message: Record<string, unknown>) => void)[]>();
  const reconnectListeners: (() => void)[] = [];
  // The client subscribes again by itself before it says so; the answer to one more subscription comes when it is done.
  subscriber.on('ready', () => {
    const [channel] = listeners.keys();
    if (channel === undefined) return;
    void subscriber.subscribe(channel).then(
      () => {
        for (const notify of reconnectListeners) notify();
      },
      (error: unknown) => log.debug({ err: error }, 'subscribing again failed'),
    );
  });
  subscriber.on('message', (channel: string, text: string) => {
    try {
      const message = JSON.parse(text) as Record<string, unknown>;
      for (const notify of listeners.get(channel) ?? []) notify(message);
    } catch (error) {
      log.warn({ err: error, channel }, 'a message could not be read');
    }
  });
  return {
    publish: (channel, message) =>
      void publisher
        .publish(channel, JSON.stringify(message))
        .catch((error: unknown) => log.debug({ err: error, channel }, 'a message was not sent')),
    async subscribe(channel, notify) {
      const known = listeners.get(channel);
      if (known) return void known.push(notify);
      listeners.set(channel, [notify]);
      await subscriber.subscribe(channel);
    },
    onReconnect: (notify) => void reconnectListeners.push(notify),
  };
}
