import type { HttpRequest, HttpResponse, TemplatedApp, WebSocket, us_socket_context_t } from 'uWebSockets.js';
import { Problem, unavailable, validationProblem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Tickets } from '../../stores/redis/tickets.ts';
import { answer } from '../answer.ts';
import { limitKeyOf, socketText } from '../client-address.ts';
import { asProblem, standingHeaders } from '../dispatch.ts';
import { readHead } from '../head.ts';
import type { Limits } from '../limits.ts';
import type { People } from '../people.ts';
import type { Principal } from '../principal.ts';
import { openReply } from '../reply.ts';
import { requestIdOf } from '../request-id.ts';
import { createConversation, type Conversation } from './conversation.ts';
import type { Hub, Member } from './hub.ts';
import { liveLimits } from './live-limits.ts';
import { frameOf, type Frame, type Outlet } from './outlet.ts';
import { createSession, type SessionDeps } from './session.ts';

export interface SocketDeps extends SessionDeps {
  hub: Hub;
  tickets: Tickets<Principal>;
  people: Pick<People, 'current'>;
  limits: Pick<Limits, 'consume'>;
  addressOf(socketAddress: string, forwardedFor: string | undefined): string;
  /** Origins whose pages may connect, besides the service's own. */
  origins: readonly string[];
  isDraining(): boolean;
  /** Seconds without any sign of life, not even an answer to a ping, after which a connection is given up: 8–960. */
  idleTimeoutSeconds?: number;
  metrics: Pick<Metrics, 'liveSent' | 'liveLagged' | 'liveConnected'>;
  log: Log;
}

export const subprotocol = 'survey.v1';

/** Above this nothing but short notices is written to a client. */
const congestedBytes = 64 * 1024;
/** A client that reads nothing and still makes the service answer is cut off here. */
const backlogAtMostBytes = 1024 * 1024;

interface Link {
  principal: Principal;
  port: Port | undefined;
}

interface Port {
  conversation: Conversation;
  member: Member;
  drained(): void;
  closed(): void;
}

/** The WebSocket `/live`: a ticket opens it, then client and session talk. */
export function addLiveSocket(app: Pick<TemplatedApp, 'ws'>, path: string, deps: SocketDeps): void {
  let fresh: WebSocket<Link> | undefined;
  const opened = (): WebSocket<Link> | undefined => {
    const ws = fresh;
    fresh = undefined;
    return ws;
  };
  app.ws<Link>(path, {
    maxPayloadLength: liveLimits.frameBytes, maxBackpressure: backlogAtMostBytes, closeOnBackpressureLimit: 1,
    // Pings go out by themselves, so half-open connections end here.
    idleTimeout: deps.idleTimeoutSeconds ?? liveLimits.idleSeconds, sendPingsAutomatically: true,
    upgrade: (res, req, context) => void receive(deps, { path, res, req, context, opened }),
    // No more than this before the cork is over: the server then looks at what was the request's state, by now free memory that anything may
    // have been written to, and would close the connection by what it finds.
    open: (ws) => void (fresh = ws),
    message: (ws, bytes, isBinary) => ws.getUserData().port?.conversation.hear(Buffer.from(bytes).toString(), isBinary),
    drain: (ws) => ws.getUserData().port?.drained(),
    close: (ws) => {
      if (ws === fresh) fresh = undefined;
      ws.getUserData().port?.closed();
    },
  });
}

interface Knock {
  ticket: string;
  address: string;
  protocols: string[];
  origin: string | undefined;
  host: string | undefined;
  problem: Problem | undefined;
}

interface Upgrade {
  path: string;
  res: HttpResponse;
  req: HttpRequest;
  context: us_socket_context_t;
  /** The connection that this upgrade has made, if it still stands. */
  opened(): WebSocket<Link> | undefined;
}

async function receive(deps: SocketDeps, { path, res, req, context, opened }: Upgrade): Promise<void> {
  const reply = openReply(res);
  const { headers, problem, isUnclear } = readHead(req);
  const knock: Knock = {
    ticket: req.getQuery('ticket') ?? '',
    address: deps.addressOf(socketText(res.getRemoteAddress()), headers.get('x-forwarded-for')),
    protocols: (headers.get('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim()),
    origin: headers.get('origin') || undefined,
    host: headers.get('host'),
    problem,
  };
  const requestId = requestIdOf(headers.get('x-request-id'));
  const [key, extensions] = [headers.get('sec-websocket-key') ?? '', headers.get('sec-websocket-extensions') ?? ''];
  try {
    const principal = await admit(deps, knock);
    if (reply.isOver) return;
    res.cork(() => {
      res.writeStatus('101 Switching Protocols').writeHeader('x-request-id', requestId);
      res.upgrade<Link>({ principal, port: undefined }, key, subprotocol, extensions, context);
    });
    const ws = opened();
    if (ws) ws.getUserData().port = openPort(deps, ws);
  } catch (error) {
    const refusal = asProblem(error, deps.log, { requestId, route: path });
    // Counted like calls without a valid token, so that guessing tickets is limited.
    const standing = await deps.limits.consume('api', limitKeyOf(knock.address));
    const shown = standing.isAllowed ? refusal : new Problem('RATE_LIMITED', undefined, { retryAfterSeconds: standing.retryAfterSeconds });
    await answer(reply, shown, [['x-request-id', requestId], ...standingHeaders(standing)], { isHead: false, requestId, isUnclear });
  }
}

/** Who knocks; throws a Problem for whom the door stays shut. What costs nothing is looked at before the ticket is used up. */
async function admit(deps: SocketDeps, { ticket, protocols, origin, host, problem }: Knock): Promise<Principal> {
  if (deps.isDraining()) throw unavailable('The service is stopping', 1);
  if (problem) throw problem;
  if (!protocols.includes(subprotocol)) throw validationProblem([{ path: 'Sec-WebSocket-Protocol', message: `must be ${subprotocol}` }]);
  if (origin !== undefined && !isOwnOrigin(origin, host) && !deps.origins.includes(origin)) throw new Problem('FORBIDDEN', 'Pages of this origin may not connect');
  const holder = await deps.tickets.redeem(ticket);
  const principal = holder && (await deps.people.current(holder));
  if (principal) return principal;
  throw new Problem('UNAUTHORIZED', 'A valid ticket is needed; each can be used once');
}

function isOwnOrigin(origin: string, host: string | undefined): boolean {
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
}

function openPort(deps: SocketDeps, ws: WebSocket<Link>): Port {
  const { outlet, drained, ended } = socketOutlet(ws);
  const session = createSession(deps, ws.getUserData().principal, outlet);
  const close = (code: number, reason: string) => {
    if (!outlet.isOver) ws.end(code, reason);
  };
  const member: Member = {
    session,
    expire: () => close(1008, 'The session is over'),
    goAway(afterMs) {
      session.tell(frameOf('reconnect', { afterMs }));
      close(1012, 'The service restarts');
    },
  };
  deps.hub.add(member);
  deps.metrics.liveConnected('websocket', 1);
  return {
    conversation: createConversation({ session, close, log: deps.log }), member, drained,
    closed() {
      ended();
      session.close();
      deps.hub.remove(member);
      deps.metrics.liveConnected('websocket', -1);
    },
  };
}

function socketOutlet(ws: WebSocket<Link>): { outlet: Outlet; drained(): void; ended(): void } {
  let isOver = false;
  let waiting: (() => void)[] = [];
  const release = () => {
    const all = waiting;
    waiting = [];
    for (const go of all) go();
  };
  const isCongested = () => !isOver && ws.getBufferedAmount() > congestedBytes;
  const outlet: Outlet = {
    write(frames: readonly Frame[]): void {
      if (isOver) return;
      // One system call for all of them.
      ws.cork(() => {
        for (const { bytes } of frames) if (!isOver) ws.send(bytes, false);
      });
    },
    get isCongested() {
      return isCongested();
    },
    get isOver() {
      return isOver;
    },
    room: () => (isCongested() ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()),
  };
  return {
    outlet,
    drained: () => void (isCongested() || release()),
    ended() {
      isOver = true;
      release();
    },
  };
}
