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
 * After this time without progress a stream is cut. Bytes that the kernel has taken count as received, since uWS does
 * not tell what is unacknowledged; a quiet stream whose client has vanished therefore ends only when the kernel gives
 * the connection up.
 */
const maxStalledMs = liveLimits.stalledSeconds * 1000;

/** Opens a session that sends server-sent events over `body`. The stream ends with the session's last subscription. */
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
 * `heartbeat` also moves the client's last event id on to `cursor`, without an event, as browsers dispatch no id
 * without data; otherwise the id of a rare response could become older than what the stream still keeps. `keepOpen`
 * writes a comment to a congested client, since uWS cuts a connection ten seconds after the last write.
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
    // uWS sends its buffer only when something is written.
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
