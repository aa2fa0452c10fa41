import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { DrainDelay } from '../../platform/drain-delay.ts';
import type { RequestContext } from '../routing/dispatch.ts';
import { defaultMaxBodyBytes, type Method, type Outcome } from '../routing/route.ts';
import type { RouteMatch, RouteTable } from '../routing/route-table.ts';
import type { SubmitFastPath } from '../submit/fast-path.ts';
import { submitPath } from '../submit/submit-route.ts';
import type { BodyBudget } from './body-pieces.ts';
import { rateLimitKeyOf, socketAddressText } from './client-address.ts';
import { corsHeaders, methodProblem, preflightHeaders } from './cors.ts';
import { createListenSocket, type ListenSocketOptions } from './listen-socket.ts';
import { type Header, openReply, type ReplyChannel } from './reply.ts';
import { declaredTooLarge, type ReceiveOptions, receiveBody, receiveStream } from './request-body.ts';
import { type RequestHead, readRequestHead, requestIdOf } from './request-head.ts';
import { uWS } from './uwebsockets.ts';
import { writeResponse } from './write-response.ts';

export type Dispatch = (context: RequestContext) => Promise<{ outcome: Outcome | Problem; headers: Header[] }>;

export interface ServerOptions extends Pick<ListenSocketOptions, 'portSetting'> {
  /** Routes below `/api/v1`. */
  api: RouteTable;
  /** Routes at the root: health, metrics, docs. */
  root: RouteTable;
  dispatch: Dispatch;
  addressOf(socketAddress: string, forwardedFor: string | undefined): string;
  corsOrigins: readonly string[];
  /** Several processes listen on one port: the kernel spreads connections. */
  isPortShared: boolean;
  /** Shared with the fast path of submissions. */
  bodyBudget: BodyBudget;
  log: Log;
  metrics: Pick<Metrics, 'requested'>;
  /** Adds WebSocket routes before the catch-all. */
  addWebSockets?(app: Pick<TemplatedApp, 'ws'>): void;
  /** Takes usual submissions, see src/http/submit/fast-path.ts. */
  submitFastPath?: SubmitFastPath | undefined;
}

export const basePath = '/api/v1';

/** The methods of the native binary that its types leave out. */
interface NativeApp extends Omit<TemplatedApp, 'listen'> {
  listen: ListenSocketOptions['app']['listen'];
  close(): void;
}

export function createServer(options: ServerOptions) {
  const app = uWS.App() as unknown as NativeApp;
  const listenSocket = createListenSocket({ app, ...options });
  let isListening = false;
  let isDraining = false;
  let inFlight = 0;
  options.addWebSockets?.(app);
  const trackRequest = () => {
    inFlight += 1;
    return () => {
      inFlight -= 1;
    };
  };
  const handleRequest = (res: HttpResponse, req: HttpRequest): void => {
    const end = trackRequest();
    // An exception here would end the process.
    serve(options, res, req, () => isDraining)
      .finally(end)
      .catch((error: unknown) => options.log.error({ err: error }, 'writing a reply failed'));
  };
  const { submitFastPath } = options;
  if (submitFastPath)
    app.post(basePath + submitPath.replace(/\{(\w+)\}/g, ':$1'), (res, req) => {
      if (isDraining || !submitFastPath(res, req, trackRequest)) handleRequest(res, req);
    });
  app.any('/*', handleRequest);
  return {
    async listen(...place: Parameters<typeof listenSocket.listen>): Promise<number> {
      const port = await listenSocket.listen(...place);
      isListening = true;
      return port;
    },
    /**
     * Waits until balancers have noticed that readiness fails. Meanwhile each connection is closed after its next
     * reply, so that kept-alive connections move elsewhere before the drain. Nothing is waited for before it listens.
     */
    async leaveBalancers(delay: DrainDelay): Promise<void> {
      if (!isListening) return;
      if (delay.ms > 0) isDraining = true;
      await delay.wait();
    },
    /** Stops accepting connections, waits for running requests up to the deadline, then closes the rest. */
    async drain(deadlineMs: number): Promise<void> {
      isDraining = true;
      listenSocket.close();
      const until = performance.now() + deadlineMs;
      while (inFlight > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
      app.close();
    },
  };
}

export type Server = ReturnType<typeof createServer>;

async function serve(
  options: ServerOptions,
  res: HttpResponse,
  req: HttpRequest,
  isDraining: () => boolean,
): Promise<void> {
  const startedAt = performance.now();
  const reply = openReply(res);
  const head = readRequestHead(req);
  const { table, path } = routeTableFor(options, head.path);
  const isHead = head.method === 'HEAD';
  const match =
    methods.has(head.method) || isHead ? table.match(isHead ? 'GET' : (head.method as Method), path) : undefined;
  const address = options.addressOf(socketAddressText(res.getRemoteAddress()), head.headers.get('x-forwarded-for'));
  const requestId = requestIdOf(head.headers.get('x-request-id'));
  const bodyOptions = receiveOptions(head, match, reply);
  // Nobody asks for the body of these methods, so its length is judged here.
  const problem = head.problem ?? (takesBody(head) ? undefined : declaredTooLarge(bodyOptions));
  const isStream = match?.route.bodyKind === 'stream';
  const stream = isStream ? receiveStream(res, bodyOptions) : undefined;
  const body =
    isStream || !hasBody(head)
      ? undefined
      : receiveBody(res, {
          ...bodyOptions,
          budget: options.bodyBudget,
          address: rateLimitKeyOf(address),
        });
  const cors = corsHeaders(
    options.corsOrigins,
    head.headers.get('origin'),
    (match ?? preflightedRoute(table, head, path))?.route.access.kind === 'public',
  );
  const corsPreflight = head.method === 'OPTIONS' && !problem ? preflightHeaders(cors, table, path) : undefined;
  let status: number;
  if (corsPreflight) {
    status = 204;
    reply.sendHead(204, [['x-request-id', requestId], ...cors, ...corsPreflight, ...closeHeaders(isDraining())]);
  } else {
    const context: RequestContext = {
      match,
      problem: problem ?? (match ? undefined : methodProblem(table, path)),
      query: head.query,
      headers: head.headers,
      address,
      requestId,
      body: takesBody(head) ? body : undefined,
      stream,
      isHead,
      isFramingAmbiguous: head.isFramingAmbiguous,
    };
    // A body that nobody waits for any more is not kept until its end.
    const result = await options.dispatch(context).finally(() => body?.discard());
    const isTooLarge = result.outcome instanceof Problem && result.outcome.status === 413;
    // A client that sent `Expect: 100-continue` has not sent the body yet.
    if (isTooLarge && !head.headers.has('expect')) await (stream ?? body)?.drained();
    const mustClose = head.isFramingAmbiguous || (stream ?? body)?.mustClose() === true;
    // The engine closes the connection if another request has come while this one waits for its reply. And a head that is
    // written while the request is still being read would go with the connection that is closed after it.
    if (head.isFramingAmbiguous || (mustClose && isHead)) await nextTurn();
    const headers = [...result.headers, ...cors, ...closeHeaders(isDraining())];
    const replyContext = { isHead, requestId, mustClose };
    status = await writeResponse(reply, result.outcome, headers, replyContext).catch(async (error: unknown) => {
      options.log.error({ err: error, requestId, route: match?.route.path }, 'writing a reply failed');
      // Writes nothing where the reply has begun; then only a cut connection still signals the failure.
      const written = await writeResponse(reply, new Problem('INTERNAL_ERROR'), headers, replyContext);
      reply.cut();
      return written;
    });
  }
  options.metrics.requested(match?.route.path ?? 'none', status, (performance.now() - startedAt) / 1000);
}

const closeHeaders = (isDraining: boolean): Header[] => (isDraining ? [['connection', 'close']] : []);

const methods = new Set(['GET', 'POST', 'PUT', 'DELETE']);
const matchNothing: RouteTable['match'] = () => undefined;

function routeTableFor(options: ServerOptions, path: string): { table: Pick<RouteTable, 'match'>; path: string } {
  if (path.startsWith(`${basePath}/`)) return { table: options.api, path: path.slice(basePath.length) };
  return path.startsWith('/api/') ? { table: { match: matchNothing }, path } : { table: options.root, path };
}

/** The route that a preflight asks for. */
function preflightedRoute(
  table: Pick<RouteTable, 'match'>,
  { method, headers }: RequestHead,
  path: string,
): RouteMatch | undefined {
  const requestedMethod = method === 'OPTIONS' ? headers.get('access-control-request-method') : undefined;
  return requestedMethod !== undefined && methods.has(requestedMethod)
    ? table.match(requestedMethod as Method, path)
    : undefined;
}

const takesBody = ({ method }: RequestHead): boolean => method === 'POST' || method === 'PUT';
const hasBody = (head: RequestHead): boolean =>
  takesBody(head) || head.headers.has('content-length') || head.headers.has('transfer-encoding');

function receiveOptions(head: RequestHead, match: RouteMatch | undefined, { onAbort }: ReplyChannel): ReceiveOptions {
  const declared = head.headers.get('content-length');
  return {
    limitBytes: match?.route.maxBodyBytes ?? defaultMaxBodyBytes,
    declaredBytes: declared === undefined ? undefined : Number(declared),
    onAbort,
  };
}
