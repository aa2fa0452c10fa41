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
  const reconnectListeners: (() => void)[] = [];
  const warn = createBoundedWarnings(log);
  const notifyReconnected = () => {
    for (const notify of reconnectListeners) notify();
  };
  /** Whether it was refused at first, and messages may have been lost. */
  const subscribe = async (name: string): Promise<boolean> => {
    for (let wasRefused = false; ; wasRefused = true)
      try {
        await subscriber.subscribe(name);
        return wasRefused;
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
      subscribed: subscribe(name).then((wasRefused) => {
        channel.isSubscribed = true;
        if (wasRefused) notifyReconnected();
      }),
    };
    channels.set(name, channel);
    return channel;
  };
  subscriber.on('ready', () => {
    const former = [...channels].flatMap(([name, { isSubscribed }]) => (isSubscribed ? [name] : []));
    if (former.length > 0)
      void Promise.all(former.map(subscribe)).then(notifyReconnected, (error: unknown) =>
        log.debug({ err: error }, 'subscribing again failed'),
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
