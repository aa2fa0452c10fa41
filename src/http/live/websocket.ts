import type { HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import { Problem, unavailable, validationProblem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Tickets } from '../../stores/redis/websocket-tickets.ts';
import type { Authentication } from '../authentication.ts';
import { toProblem } from '../routing/dispatch.ts';
import type { Principal } from '../routing/principal.ts';
import { type RateLimits, rateLimitHeaders } from '../routing/rate-limits.ts';
import { rateLimitKeyOf, socketAddressText } from '../server/client-address.ts';
import { openReply } from '../server/reply.ts';
import { readRequestHead, requestIdOf } from '../server/request-head.ts';
import { writeResponse } from '../server/write-response.ts';
import { type ClientStream, createLiveMessage, type LiveMessage } from './client-stream.ts';
import type { Hub, LiveConnection } from './hub.ts';
import { liveLimits } from './live-limits.ts';
import { createMessageHandler, type MessageHandler } from './message-handler.ts';
import { createSession, type SessionDeps } from './session.ts';

export interface WebSocketDeps extends SessionDeps {
  hub: Hub;
  tickets: Tickets<Principal>;
  authentication: Pick<Authentication, 'current'>;
  limits: Pick<RateLimits, 'consume'>;
  addressOf(socketAddress: string, forwardedFor: string | undefined): string;
  /** Origins whose pages may connect, besides the service's own. */
  origins: readonly string[];
  /** The origin of the service for browsers, if it is known. */
  publicUrl: string | undefined;
  isDraining(): boolean;
  /** Seconds without any sign of life, not even a pong, after which a connection is closed: 8–960. */
  idleTimeoutSeconds?: number;
  metrics: Pick<Metrics, 'liveSent' | 'liveLagged' | 'liveConnected'>;
  log: Log;
}

export const subprotocol = 'survey.v1';

/** Above this many buffered bytes a client gets only short messages. */
const congestedBytes = 64 * 1024;
/** At this many buffered bytes, besides a long message that is under way, a client is cut off. */
const maxBufferedBytes = 1024 * 1024;

interface SocketData {
  principal: Principal;
  handlers: SocketHandlers | undefined;
}

interface SocketHandlers {
  messageHandler: MessageHandler;
  drained(): void;
  pinged(): void;
  closed(): void;
}

/** Adds the WebSocket /live, which a ticket opens. */
export function addLiveWebSocket(app: Pick<TemplatedApp, 'ws'>, path: string, deps: WebSocketDeps): void {
  let justOpened: WebSocket<SocketData> | undefined;
  const opened = (): WebSocket<SocketData> | undefined => {
    const ws = justOpened;
    justOpened = undefined;
    return ws;
  };
  app.ws<SocketData>(path, {
    maxPayloadLength: liveLimits.frameBytes,
    // No limit of the engine: it would count a long message, and cut off whoever is reading it.
    maxBackpressure: 0,
    // uWS sends pings by itself, so half-open connections end here.
    idleTimeout: deps.idleTimeoutSeconds ?? liveLimits.idleSeconds,
    sendPingsAutomatically: true,
    upgrade: (res, req, context) => void handleUpgrade(deps, { path, res, req, context, opened }),
    // Does nothing else: uWS still reads the state of the upgrade request afterwards. Its memory is free by now, and
    // would close the connection if something else had been written there.
    open: (ws) => {
      justOpened = ws;
    },
    message: (ws, bytes, isBinary) =>
      ws.getUserData().handlers?.messageHandler.handle(Buffer.from(bytes).toString(), isBinary),
    drain: (ws) => ws.getUserData().handlers?.drained(),
    // uWS has sent the pong.
    ping: (ws) => ws.getUserData().handlers?.pinged(),
    close: (ws) => {
      if (ws === justOpened) justOpened = undefined;
      ws.getUserData().handlers?.closed();
    },
  });
}

interface UpgradeRequest {
  ticket: string;
  address: string;
  protocols: string[];
  origin: string | undefined;
  host: string | undefined;
  problem: Problem | undefined;
}

interface UpgradeContext {
  path: string;
  res: HttpResponse;
  req: HttpRequest;
  context: us_socket_context_t;
  /** The connection that this upgrade has opened, if it is still open. */
  opened(): WebSocket<SocketData> | undefined;
}

async function handleUpgrade(deps: WebSocketDeps, { path, res, req, context, opened }: UpgradeContext): Promise<void> {
  const reply = openReply(res);
  const { headers, problem, isFramingAmbiguous } = readRequestHead(req);
  const request: UpgradeRequest = {
    ticket: req.getQuery('ticket') ?? '',
    address: deps.addressOf(socketAddressText(res.getRemoteAddress()), headers.get('x-forwarded-for')),
    protocols: (headers.get('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim()),
    origin: headers.get('origin') || undefined,
    host: headers.get('host'),
    problem,
  };
  const requestId = requestIdOf(headers.get('x-request-id'));
  const [key, extensions] = [headers.get('sec-websocket-key') ?? '', headers.get('sec-websocket-extensions') ?? ''];
  try {
    const principal = await authorizeUpgrade(deps, request);
    if (reply.isOver) return;
    deps.hub.admit(principal.userId);
    res.cork(() => {
      res.writeStatus('101 Switching Protocols').writeHeader('x-request-id', requestId);
      res.upgrade<SocketData>({ principal, handlers: undefined }, key, subprotocol, extensions, context);
    });
    const ws = opened();
    if (ws) ws.getUserData().handlers = openConnection(deps, ws);
  } catch (error) {
    const refusal = toProblem(error, deps.log, { requestId, route: path });
    // Counted like calls without a valid token, so that guessing tickets is limited.
    const rateLimit = await deps.limits.consume('api', rateLimitKeyOf(request.address));
    const reported = rateLimit.isAllowed
      ? refusal
      : new Problem('RATE_LIMITED', undefined, { retryAfterSeconds: rateLimit.retryAfterSeconds });
    await writeResponse(reply, reported, [['x-request-id', requestId], ...rateLimitHeaders(rateLimit)], {
      isHead: false,
      requestId,
      mustClose: isFramingAmbiguous,
    });
  }
}

/**
 * The principal of a valid upgrade; throws a Problem otherwise. Checks everything else before it uses the ticket up.
 */
async function authorizeUpgrade(
  deps: WebSocketDeps,
  { ticket, protocols, origin, host, problem }: UpgradeRequest,
): Promise<Principal> {
  if (deps.isDraining()) throw unavailable('The service is stopping', 1);
  if (problem) throw problem;
  if (!protocols.includes(subprotocol))
    throw validationProblem([{ path: 'Sec-WebSocket-Protocol', message: `must be ${subprotocol}` }]);
  const mayConnect =
    origin === undefined || origin === deps.publicUrl || isOwnOrigin(origin, host) || deps.origins.includes(origin);
  if (!mayConnect) throw new Problem('FORBIDDEN', 'Pages of this origin may not connect');
  const holder = await deps.tickets.redeem(ticket);
  const principal = holder && (await deps.authentication.current(holder));
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

function openConnection(deps: WebSocketDeps, ws: WebSocket<SocketData>): SocketHandlers {
  const { client, drained, pinged, ended } = createSocketStream(ws);
  const session = createSession(deps, ws.getUserData().principal, client);
  const close = (code: number, reason: string) => {
    if (!client.isOver) ws.end(code, reason);
  };
  const connection: LiveConnection = {
    session,
    expire: () => close(1008, 'The session is over'),
    askToReconnect(afterMs) {
      session.send(createLiveMessage('reconnect', { afterMs }));
      close(1012, 'The service restarts');
    },
  };
  deps.hub.add(connection);
  deps.metrics.liveConnected('websocket', 1);
  return {
    messageHandler: createMessageHandler({ session, close, log: deps.log }),
    drained,
    pinged,
    closed() {
      ended();
      session.close();
      deps.hub.remove(connection);
      deps.metrics.liveConnected('websocket', -1);
    },
  };
}

interface SocketStream extends Pick<SocketHandlers, 'drained' | 'pinged'> {
  client: ClientStream;
  ended(): void;
}

function createSocketStream(ws: WebSocket<SocketData>): SocketStream {
  let isOver = false;
  let waiting: (() => void)[] = [];
  /** Bytes that may be buffered: more while a long message is under way. */
  let allowedBytes = maxBufferedBytes;
  const release = () => {
    const all = waiting;
    waiting = [];
    for (const go of all) go();
  };
  const isCongested = () => !isOver && ws.getBufferedAmount() > congestedBytes;
  const closeIfOverfull = () => {
    if (!isOver && ws.getBufferedAmount() > allowedBytes) ws.close();
  };
  const client: ClientStream = {
    write(frames: readonly LiveMessage[]): void {
      if (isOver) return;
      // One system call for all messages.
      ws.cork(() => {
        for (const { bytes } of frames) {
          if (isOver) return;
          const isLong = bytes.length > congestedBytes && !isCongested();
          ws.send(bytes, false);
          if (isLong) allowedBytes = maxBufferedBytes + ws.getBufferedAmount();
        }
      });
      closeIfOverfull();
    },
    get isCongested() {
      return isCongested();
    },
    get isOver() {
      return isOver;
    },
    whenWritable: () => (isCongested() ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()),
  };
  return {
    client,
    drained() {
      if (isCongested()) return;
      allowedBytes = maxBufferedBytes;
      release();
    },
    pinged: closeIfOverfull,
    ended() {
      isOver = true;
      release();
    },
  };
}
