import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';

/** Short notifications between processes. They may be lost: receivers that need certainty read the store. */
export interface PubSub {
  publish(channel: string, message: Readonly<Record<string, unknown>>): void;
  subscribe(channel: string, listener: (message: Record<string, unknown>) => void): Promise<void>;
  /** Calls the listener when messages arrive again after a broken connection: some may have been lost. */
  onReconnect(listener: () => void): void;
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
  // The client subscribes again before it emits `ready`; the reply to one more subscription comes when that is done.
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
    onReconnect: (listener) => void reconnectListeners.push(listener),
  };
}
