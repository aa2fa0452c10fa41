import type { EventStreamDeps } from '../../src/http/live/event-stream.ts';
import type { LiveConnection } from '../../src/http/live/hub.ts';
import type { Principal } from '../../src/http/routing/principal.ts';
import { createLog } from '../../src/log.ts';

export const unused = (): never => {
  throw new Error('nobody subscribes here');
};

export const listener: Principal = {
  userId: 'u',
  email: 'u@example.org',
  role: 'ADMIN',
  sessionId: 's',
  keyId: null,
  requestsPerMinute: null,
  keyCeiling: null,
};

/**
 * What carries live streams with nothing behind it: `members` are those who are connected, and `counted` is told of
 * each who comes and goes.
 */
export function bareLive(
  members: Set<LiveConnection>,
  counted: (transport: 'websocket' | 'sse', change: 1 | -1) => void,
): EventStreamDeps {
  return {
    hub: {
      admit: () => undefined,
      add: (member) => void members.add(member),
      remove: (member) => void members.delete(member),
      all: () => [...members],
      statusMessage: unused,
      surveyChanged: unused,
      quotasChanged: unused,
      rightsChanged: unused,
      publishJobProgress: unused,
      stop: unused,
    },
    access: { find: unused, rightOf: unused },
    feed: {
      newestPosition: unused,
      deliveredUpTo: unused,
      read: unused,
      attach: unused,
      detach: unused,
      onStored: unused,
      wake: unused,
      stop: unused,
    },
    analytics: { subscribe: unused, touch: unused, touchAll: unused },
    quotas: { subscribe: unused },
    statusMessage: unused,
    log: createLog('silent'),
    metrics: { liveSent: () => undefined, liveLagged: () => undefined, liveConnected: counted },
  };
}
