import type { Metrics } from '../../metrics.ts';
import { eventText, keepAlive, signOfLife } from '../event-text.ts';
import type { Principal } from '../principal.ts';
import type { OpenBody } from '../reply.ts';
import type { Hub, Member } from './hub.ts';
import { liveLimits } from './live-limits.ts';
import type { Outlet } from './outlet.ts';
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
const stalledAtMostMs = liveLimits.stalledSeconds * 1000;

/** Server-sent events over an open body; gives its session. It ends with the last subscription. */
export function openEventStream(deps: EventStreamDeps, principal: Principal, body: OpenBody): Session {
  const { outlet, stalledMs, beat, hold } = bodyOutlet(body, deps.monotonicMs ?? (() => performance.now()));
  const session = createSession(deps, principal, outlet);
  const member: Member = {
    session,
    expire: () => body.end(),
    goAway(afterMs) {
      body.write(`retry: ${afterMs}\n\n`);
      body.end();
    },
    dropped: () => body.end(),
  };
  keepAlive(body, () => (stalledMs() > stalledAtMostMs ? body.close() : outlet.isCongested ? hold() : beat(session.reached())));
  deps.hub.add(member);
  deps.metrics.liveConnected('sse', 1);
  let isOpen = true;
  body.onEnd(() => {
    if (!isOpen) return;
    isOpen = false;
    session.close();
    deps.hub.remove(member);
    deps.metrics.liveConnected('sse', -1);
  });
  return session;
}

/**
 * `beat` writes a sign of life. It moves the client's last id on to `cursor` without an event (an id without data is dispatched to nobody): where
 * responses are rare the last one's would grow older than what can be read again. `hold` keeps the server from cutting off a client that takes
 * nothing, as it does ten seconds after the last write; its three bytes are held back with the rest.
 */
function bodyOutlet(body: OpenBody, monotonicMs: () => number): { outlet: Outlet; stalledMs(): number; beat(cursor: string | undefined): void; hold(): void } {
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
    if (body.write(signOfLife)) release();
    else if (stalledAt !== undefined) stalledAt = monotonicMs();
  });
  body.onEnd(release);
  const outlet: Outlet = {
    write(frames) {
      for (const { cursor } of frames) lastId = cursor ?? lastId;
      write(frames.map(eventText).join(''));
    },
    get isCongested() {
      return stalledAt !== undefined && !body.isOver;
    },
    get isOver() {
      return body.isOver;
    },
    room: () => (stalledAt === undefined || body.isOver ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
  const beat = (cursor: string | undefined): void => {
    const isNew = cursor !== undefined && cursor !== lastId;
    if (isNew) lastId = cursor;
    write(isNew ? `:\nid: ${cursor}\n\n` : signOfLife);
  };
  const hold = (): void => {
    if (body.write(signOfLife)) release();
  };
  return { outlet, beat, hold, stalledMs: () => (stalledAt === undefined ? 0 : monotonicMs() - stalledAt) };
}
