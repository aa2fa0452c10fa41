import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp, type us_listen_socket } from 'uWebSockets.js';
import { Problem, validationProblem } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { receiveBody, receiveStream, type IncomingBody, type IncomingStream } from './body.ts';
import type { Arrival } from './dispatch.ts';
import { openReply, type ReplyChannel } from './reply.ts';
import { defaultMaxBodyBytes, type Match, type Method, type Outcome, type RouteTable } from './route.ts';

type Header = readonly [string, string];
export type Dispatch = (arrival: Arrival) => Promise<{ outcome: Outcome | Problem; headers: Header[] }>;

export interface ServerOptions {
  /** Routes below `/api/v1`. */
  api: RouteTable;
  /** Routes at the root: health, metrics, docs. */
  root: RouteTable;
  dispatch: Dispatch;
  addressOf(socketAddress: string, forwardedFor: string | undefined): string;
  corsOrigins: readonly string[];
  /** Several processes listen on one port: the kernel spreads connections. */
  isPortShared: boolean;
  log: Log;
  metrics: Pick<Metrics, 'requested'>;
  /** Adds WebSocket routes before the catch-all. */
  extend?(app: Pick<TemplatedApp, 'ws'>): void;
}

export const basePath = '/api/v1';
const exclusivePort = 1;

/** Refuses to run on the JavaScript imitation that the package falls back to on a Node version it has no binary for. */
export function assertNativeServer(): void {
  if (typeof uWS.SSLApp !== 'function')
    throw new Error(`uWebSockets.js has no native binary for Node ${process.versions.node} on ${process.platform}-${process.arch}; use Node 20`);
}

/** What the native binary can do beyond its published types. */
interface NativeApp extends Omit<TemplatedApp, 'listen'> {
  listen(host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void): void;
  close(): void;
}

export function createServer(options: ServerOptions) {
  const app = uWS.App() as unknown as NativeApp;
  let listening: us_listen_socket | undefined;
  let isDraining = false;
  let inFlight = 0;
  options.extend?.(app);
  app.any('/*', (res, req) => {
    inFlight += 1;
    // Whatever is thrown here would end the process, so nothing may be.
    serve(options, res, req, () => isDraining).finally(() => (inFlight -= 1)).catch((error: unknown) => options.log.error({ err: error }, 'a reply failed'));
  });
  return {
    listen: (host: string, port: number) =>
      new Promise<number>((resolve, reject) => {
        app.listen(host, port, options.isPortShared ? 0 : exclusivePort, (socket) => {
          if (!socket) return reject(new Error(`cannot listen on ${host}:${port}: the port is in use or not allowed`));
          listening = socket;
          resolve(uWS.us_socket_local_port(socket));
        });
      }),
    /** Stops taking connections, lets running requests end (bounded by the deadline), then closes the rest. */
    async drain(deadlineMs: number): Promise<void> {
      isDraining = true;
      if (listening) uWS.us_listen_socket_close(listening);
      listening = undefined;
      const until = Date.now() + deadlineMs;
      while (inFlight > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
      app.close();
    },
    get isDraining() {
      return isDraining;
    },
    get inFlight() {
      return inFlight;
    },
  };
}

export type Server = ReturnType<typeof createServer>;

interface Head {
  method: string;
  path: string;
  query: string;
  headers: Map<string, string>;
  problem: Problem | undefined;
}

/** Copies what is needed from the request: it is only valid until the first await. */
function readHead(req: HttpRequest): Head {
  const headers = new Map<string, string>();
  let problem: Problem | undefined;
  req.forEach((name, value) => {
    const known = headers.get(name);
    if (known === undefined) headers.set(name, value);
    else if (name === 'content-length' || name === 'transfer-encoding' || name === 'host')
      problem = validationProblem([{ path: name, message: 'the header is given twice' }]);
    else headers.set(name, `${known}, ${value}`);
  });
  const encoding = headers.get('transfer-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked')
    problem = validationProblem([{ path: 'transfer-encoding', message: 'only chunked is known' }]);
  return { method: req.getMethod().toUpperCase(), path: req.getUrl(), query: req.getQuery() ?? '', headers, problem };
}

const socketText = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString('latin1');
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

async function serve(options: ServerOptions, res: HttpResponse, req: HttpRequest, isDraining: () => boolean): Promise<void> {
  const startedAt = performance.now();
  const reply = openReply(res);
  const head = readHead(req);
  const { table, path } = tableFor(options, head.path);
  const isHead = head.method === 'HEAD';
  const match = methods.has(head.method) || isHead ? table.match(isHead ? 'GET' : (head.method as Method), path) : undefined;
  const address = options.addressOf(socketText(res.getRemoteAddressAsText()), head.headers.get('x-forwarded-for'));
  const given = head.headers.get('x-request-id');
  const requestId = given !== undefined && requestIdPattern.test(given) ? given : newId();
  const isStream = match?.route.bodyKind === 'stream';
  const stream = isStream ? streamOf(res, head, match, reply) : undefined;
  const body = isStream ? undefined : bodyOf(res, head, match);
  const cors = corsHeaders(options.corsOrigins, head.headers.get('origin'), match);
  let status: number;
  if (head.method === 'OPTIONS') {
    status = 204;
    reply.sendHead(204, [['x-request-id', requestId], ...cors, ...preflight(cors, table, path)]);
  } else {
    const arrival: Arrival = { match: head.problem ? undefined : match, query: head.query, headers: head.headers, address, requestId, body, stream, reply };
    const result = head.problem ? { outcome: head.problem, headers: [['x-request-id', requestId]] as Header[] } : await options.dispatch(arrival);
    status = await answer(reply, result.outcome, [...result.headers, ...cors, ...(isDraining() ? [['connection', 'close'] as const] : [])], { isHead, requestId });
  }
  options.metrics.requested(match?.route.path ?? 'none', status, (performance.now() - startedAt) / 1000);
}

const methods = new Set(['GET', 'POST', 'PUT', 'DELETE']);
const nothing: RouteTable['match'] = () => undefined;

function tableFor(options: ServerOptions, path: string): { table: Pick<RouteTable, 'match'>; path: string } {
  if (path.startsWith(`${basePath}/`)) return { table: options.api, path: path.slice(basePath.length) };
  return path.startsWith('/api/') ? { table: { match: nothing }, path } : { table: options.root, path };
}

function bodyOf(res: HttpResponse, head: Head, match: Match | undefined): IncomingBody | undefined {
  if (head.method !== 'POST' && head.method !== 'PUT' && !head.headers.has('content-length') && !head.headers.has('transfer-encoding')) return undefined;
  const declared = head.headers.get('content-length');
  const body = receiveBody(res, match?.route.maxBodyBytes ?? defaultMaxBodyBytes, declared === undefined ? undefined : Number(declared));
  return head.method === 'POST' || head.method === 'PUT' ? body : undefined;
}

function streamOf(res: HttpResponse, head: Head, match: Match, { onAbort }: ReplyChannel): IncomingStream {
  const declared = head.headers.get('content-length');
  return receiveStream(res, { limitBytes: match.route.maxBodyBytes ?? defaultMaxBodyBytes, declaredBytes: declared === undefined ? undefined : Number(declared), onAbort });
}

function corsHeaders(origins: readonly string[], origin: string | undefined, match: Match | undefined): Header[] {
  if (origin === undefined || origins.length === 0) return [];
  const isListed = origins.includes(origin);
  const isOpen = origins.includes('*') && match?.route.access.kind === 'public';
  if (!isListed && !isOpen) return [['vary', 'Origin']];
  return [['access-control-allow-origin', isListed ? origin : '*'], ['vary', 'Origin'], ['access-control-expose-headers', exposed]];
}

const exposed = 'X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Idempotent-Replayed, ETag, Content-Disposition';

function preflight(cors: readonly Header[], table: Pick<RouteTable, 'match'>, path: string): Header[] {
  const allowed = ['GET', 'POST', 'PUT', 'DELETE'].filter((method) => table.match(method as Method, path));
  const allow: Header = ['allow', [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')];
  if (!cors.some(([name]) => name === 'access-control-allow-origin')) return [allow];
  return [allow, ['access-control-allow-methods', allowed.join(', ')], ['access-control-allow-headers', 'Authorization, Content-Type, Idempotency-Key, X-Survey-Token, X-Filename, X-Request-Id, Last-Event-ID'], ['access-control-max-age', '600']];
}

const plainHeaders: readonly Header[] = [['x-content-type-options', 'nosniff'], ['cache-control', 'no-store']];
/** Proxies are asked not to keep events back. */
const eventHeaders: readonly Header[] = [['content-type', 'text/event-stream; charset=utf-8'], ['x-accel-buffering', 'no'], ...plainHeaders];
const jsonHeaders: readonly Header[] = [['content-type', 'application/json; charset=utf-8'], ...plainHeaders];

async function answer(reply: ReplyChannel, outcome: Outcome | Problem, headers: Header[], context: { isHead: boolean; requestId: string }): Promise<number> {
  if (outcome instanceof Problem) return sendProblem(reply, outcome, headers, context);
  if (outcome.kind === 'taken') return 200;
  if (outcome.kind === 'events') {
    if (context.isHead) reply.sendHead(200, [...eventHeaders, ...headers]);
    else {
      const body = reply.open(200, [...eventHeaders, ...headers]);
      if (body) outcome.begin(body);
    }
    return 200;
  }
  if (outcome.kind === 'stream') {
    if (context.isHead) reply.sendHead(outcome.status, [...outcome.headers, ...headers], outcome.totalBytes);
    else await reply.stream(outcome.status, [...outcome.headers, ...headers], outcome.source, outcome.totalBytes);
    return outcome.status;
  }
  const isJson = outcome.kind === 'json';
  const text = isJson ? JSON.stringify({ success: true, data: outcome.data, ...(outcome.pagination && { pagination: outcome.pagination }) }) : outcome.text;
  const type: readonly Header[] = isJson ? jsonHeaders : [['content-type', outcome.mediaType], ['x-content-type-options', 'nosniff']];
  write(reply, outcome.status, [...type, ...headers, ...(outcome.headers ?? [])], text, context.isHead);
  return outcome.status;
}

function write(reply: ReplyChannel, status: number, headers: Header[], text: string, isHead: boolean): void {
  if (isHead) reply.sendHead(status, headers, Buffer.byteLength(text));
  else reply.send(status, headers, text);
}

function sendProblem(reply: ReplyChannel, problem: Problem, given: Header[], context: { isHead: boolean; requestId: string }): number {
  const headers: Header[] = [...jsonHeaders, ...given, ...problem.headers];
  if (problem.retryAfterSeconds !== undefined) headers.push(['retry-after', String(problem.retryAfterSeconds)]);
  if (problem.status === 401) headers.push(['www-authenticate', 'Bearer']);
  const text = JSON.stringify({ success: false, message: problem.message, code: problem.code, requestId: context.requestId, ...(problem.details && { details: problem.details }) });
  // A body that was refused unread would be taken for the next request.
  if (problem.status === 413) reply.sendAndClose(413, headers, text);
  else write(reply, problem.status, headers, text, context.isHead);
  return problem.status;
}
