import type { Metrics } from '../../metrics.ts';
import type { Principal } from '../routing/principal.ts';
import type { StreamingBody } from '../server/reply.ts';
import { formatEvent, heartbeatComment, startHeartbeat } from '../server/server-sent-events.ts';
import type { ClientStream } from './client-stream.ts';
import type { Hub, LiveConnection } from './hub.ts';
import { liveLimits } from './live-limits.ts';
import { createSession, type Session, type SessionDeps } from './session.ts';

export interface EventStreamDeps extends SessionDeps {
  hub: Hub;
  metrics: Pick<Metrics, 'liveSent' | 'liveLagged' | 'liveConnected'>;
  monotonicMs?(): number;
}

/**
 * What the system has taken counts as taken by the client: uWS tells neither what is unacknowledged nor the client's port, by which the system
 * could be asked. So a vanished client's quiet stream, for which heartbeats never fill the socket, ends when the system gives the connection up.
 */
const maxStalledMs = liveLimits.stalledSeconds * 1000;

/** Server-sent events over an open body; gives its session. It ends with the last subscription. */
export function openEventStream(deps: EventStreamDeps, principal: Principal, body: StreamingBody): Session {
  const { client, stalledMs, heartbeat, keepOpen } = createBodyStream(
    body,
    deps.monotonicMs ?? (() => performance.now()),
  );
  const session = createSession(deps, principal, client);
  const connection: LiveConnection = {
    session,
    expire: () => body.end(),
    askToReconnect(afterMs) {
      body.write(`retry: ${afterMs}\n\n`);
      body.end();
    },
    subscriptionEnded: () => body.end(),
  };
  startHeartbeat(body, () =>
    stalledMs() > maxStalledMs ? body.close() : client.isCongested ? keepOpen() : heartbeat(session.deliveredCursor()),
  );
  deps.hub.add(connection);
  deps.metrics.liveConnected('sse', 1);
  let isOpen = true;
  body.onEnd(() => {
    if (!isOpen) return;
    isOpen = false;
    session.close();
    deps.hub.remove(connection);
    deps.metrics.liveConnected('sse', -1);
  });
  return session;
}

/**
 * `beat` writes a sign of life. It moves the client's last id on to `cursor` without an event (an id without data is dispatched to nobody): where
 * responses are rare the last one's would grow older than what can be read again. `hold` keeps the server from cutting off a client that takes
 * nothing, as it does ten seconds after the last write; its three bytes are held back with the rest.
 */
function createBodyStream(
  body: StreamingBody,
  monotonicMs: () => number,
): { client: ClientStream; stalledMs(): number; heartbeat(cursor: string | undefined): void; keepOpen(): void } {
  let lastId: string | undefined;
  let stalledAt: number | undefined;
  let waiting: (() => void)[] = [];
  const write = (text: string) => {
    if (!body.write(text)) stalledAt ??= monotonicMs();
  };
  const release = () => {
    stalledAt = undefined;
    const all = waiting;
    waiting = [];
    for (const go of all) go();
  };
  body.onWritable(() => {
    // What the server holds back only moves when something is written.
    if (body.write(heartbeatComment)) release();
    else if (stalledAt !== undefined) stalledAt = monotonicMs();
  });
  body.onEnd(release);
  const client: ClientStream = {
    write(frames) {
      for (const { cursor } of frames) lastId = cursor ?? lastId;
      write(frames.map(formatEvent).join(''));
    },
    get isCongested() {
      return stalledAt !== undefined && !body.isOver;
    },
    get isOver() {
      return body.isOver;
    },
    whenWritable: () =>
      stalledAt === undefined || body.isOver ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
  };
  const heartbeat = (cursor: string | undefined): void => {
    const isNew = cursor !== undefined && cursor !== lastId;
    if (isNew) lastId = cursor;
    write(isNew ? `:\nid: ${cursor}\n\n` : heartbeatComment);
  };
  const keepOpen = (): void => {
    if (body.write(heartbeatComment)) release();
  };
  return { client, heartbeat, keepOpen, stalledMs: () => (stalledAt === undefined ? 0 : monotonicMs() - stalledAt) };
}
