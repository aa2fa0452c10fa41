import type { Member } from '../../src/http/live/hub.ts';
import type { EventStreamDeps } from '../../src/http/live/event-stream.ts';
import type { Principal } from '../../src/http/principal.ts';
import { createLog } from '../../src/log.ts';

export const unused = (): never => {
  throw new Error('nobody subscribes here');
};

export const listener: Principal = { userId: 'u', email: 'u@example.org', role: 'ADMIN', sessionId: 's', keyId: null, requestsPerMinute: null };

/** What carries live streams with nothing behind it: `members` are those who are connected, and `counted` is told of each who comes and goes. */
export function bareLive(members: Set<Member>, counted: (transport: 'websocket' | 'sse', change: 1 | -1) => void): EventStreamDeps {
  return {
    hub: { add: (member) => void members.add(member), remove: (member) => void members.delete(member), all: () => [...members], statusFrame: unused, surveyChanged: unused, rightsChanged: unused, jobMoved: unused, stop: unused },
    access: { find: unused, rightOf: unused }, feed: { now: unused, handed: unused, read: unused, attach: unused, detach: unused, watch: unused, wake: unused, stop: unused },
    analytics: { join: unused, touch: unused }, statusFrame: unused, log: createLog('silent'),
    metrics: { liveSent: () => undefined, liveLagged: () => undefined, liveConnected: counted },
  };
}
