import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';
import { createBoundedWarnings } from '../../platform/bounded-warnings.ts';

/** Short notifications between processes. They may be lost: receivers that need certainty read the store. */
export interface PubSub {
  publish(channel: string, message: Readonly<Record<string, unknown>>): void;
  /** Resolves when messages arrive. A subscription that Redis refuses is tried again until the client is closed. */
  subscribe(channel: string, listener: Listener): Promise<void>;
  /** Calls the listener when messages arrive again after a broken connection: some may have been lost. */
  onReconnect(listener: () => void): void;
}

type Listener = (message: Record<string, unknown>) => void;

interface Channel {
  listeners: Listener[];
  isSubscribed: boolean;
  subscribed: Promise<void>;
}

export function createPubSub({
  publisher,
  subscriber,
  log,
  retryMs = 1000,
}: {
  publisher: Redis;
  subscriber: Redis;
  log: Log;
  retryMs?: number;
}): PubSub {
  const channels = new Map<string, Channel>();
  const warn = createBoundedWarnings(log);
  const subscribe = async (name: string): Promise<void> => {
    for (;;)
      try {
        await subscriber.subscribe(name);
        return;
      } catch (error) {
        if (subscriber.status === 'end') throw error;
        warn({ err: error, channel: name }, 'Redis refused a subscription; it is tried again');
        await pause(retryMs, undefined, { ref: false });
      }
  };
  const open = (name: string): Channel => {
    const channel: Channel = {
      listeners: [],
      isSubscribed: false,
      subscribed: subscribe(name).then(() => {
        channel.isSubscribed = true;
      }),
    };
    channels.set(name, channel);
    return channel;
  };
  const reconnectListeners: (() => void)[] = [];
  // The client subscribes again before it emits `ready`; the reply to one more subscription comes when that is done.
  subscriber.on('ready', () => {
    const [name] = [...channels].find(([, { isSubscribed }]) => isSubscribed) ?? [];
    if (name === undefined) return;
    void subscriber.subscribe(name).then(
      () => {
        for (const notify of reconnectListeners) notify();
      },
      (error: unknown) => log.debug({ err: error }, 'subscribing again failed'),
    );
  });
  subscriber.on('message', (channel: string, text: string) => {
    try {
      const message = JSON.parse(text) as Record<string, unknown>;
      for (const notify of channels.get(channel)?.listeners ?? []) notify(message);
    } catch (error) {
      log.warn({ err: error, channel }, 'a message could not be read');
    }
  });
  return {
    publish: (channel, message) =>
      void publisher
        .publish(channel, JSON.stringify(message))
        .catch((error: unknown) => log.debug({ err: error, channel }, 'a message was not sent')),
    subscribe(name, notify) {
      const channel = channels.get(name) ?? open(name);
      channel.listeners.push(notify);
      return channel.subscribed;
    },
    onReconnect: (listener) => void reconnectListeners.push(listener),
  };
}
