import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { answer } from './answer.ts';
import { receiveBody, receiveStream, type ReceiveOptions } from './body.ts';
import { socketText } from './client-address.ts';
import { allowHint, corsHeaders, preflight } from './cors.ts';
import type { Arrival } from './dispatch.ts';
import { uWS } from './engine.ts';
import { readHead, type Head } from './head.ts';
import { createListening, type ListeningOptions } from './listening.ts';
import { openReply, type ReplyChannel } from './reply.ts';
import { requestIdOf } from './request-id.ts';
import { defaultMaxBodyBytes, type Match, type Method, type Outcome, type RouteTable } from './route.ts';
import { submitPath, type SubmitDoor } from './submit-door.ts';

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
  /** Takes the usual submissions on a shorter way. */
  submitDoor?: SubmitDoor | undefined;
}

export const basePath = '/api/v1';

/** What the native binary can do beyond its published types. */
interface NativeApp extends Omit<TemplatedApp, 'listen'> {
  listen: ListeningOptions['app']['listen'];
  close(): void;
}

export function createServer(options: ServerOptions) {
  const app = uWS.App() as unknown as NativeApp;
  const listening = createListening({ app, isPortShared: options.isPortShared, log: options.log });
  let isDraining = false;
  let inFlight = 0;
  options.extend?.(app);
  const track = () => {
    inFlight += 1;
    return () => void (inFlight -= 1);
  };
  const general = (res: HttpResponse, req: HttpRequest): void => {
    const end = track();
    // Whatever is thrown here would end the process, so nothing may be.
    serve(options, res, req, () => isDraining).finally(end).catch((error: unknown) => options.log.error({ err: error }, 'a reply failed'));
  };
  const { submitDoor } = options;
  if (submitDoor)
    app.post(basePath + submitPath.replace(/\{(\w+)\}/g, ':$1'), (res, req) => {
      if (isDraining || !submitDoor(res, req, track)) general(res, req);
    });
  app.any('/*', general);
  return {
    listen: listening.listen,
    /** Every reply to a call that comes from now on ends its connection, so that those which are kept open move elsewhere before anything is closed. */
    windDown(): void {
      isDraining = true;
    },
    /** Stops taking connections, lets running requests end (bounded by the deadline), then closes the rest. */
    async drain(deadlineMs: number): Promise<void> {
      isDraining = true;
      listening.close();
      const until = performance.now() + deadlineMs;
      while (inFlight > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
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

async function serve(options: ServerOptions, res: HttpResponse, req: HttpRequest, isDraining: () => boolean): Promise<void> {
  const startedAt = performance.now();
  const reply = openReply(res);
  const head = readHead(req);
  const { table, path } = tableFor(options, head.path);
  const isHead = head.method === 'HEAD';
  const match = methods.has(head.method) || isHead ? table.match(isHead ? 'GET' : (head.method as Method), path) : undefined;
  const address = options.addressOf(socketText(res.getRemoteAddress()), head.headers.get('x-forwarded-for'));
  const requestId = requestIdOf(head.headers.get('x-request-id'));
  const isStream = match?.route.bodyKind === 'stream';
  const stream = isStream ? receiveStream(res, receiveOptions(head, match, reply)) : undefined;
  const body = isStream || !hasBody(head) ? undefined : receiveBody(res, receiveOptions(head, match, reply));
  const cors = corsHeaders(options.corsOrigins, head.headers.get('origin'), (match ?? askedAbout(table, head, path))?.route.access.kind === 'public');
  const told = head.method === 'OPTIONS' && !head.problem ? preflight(cors, table, path) : undefined;
  let status: number;
  if (told) {
    status = 204;
    reply.sendHead(204, [['x-request-id', requestId], ...cors, ...told, ...parting(isDraining())]);
  } else {
    const arrival: Arrival = { match, problem: head.problem, query: head.query, headers: head.headers, address, requestId, body: takesBody(head) ? body : undefined, stream, reply };
    const result = await options.dispatch(arrival);
    const isTooLarge = result.outcome instanceof Problem && result.outcome.status === 413;
    // Who asked first has sent nothing yet.
    if (isTooLarge && !head.headers.has('expect')) await (stream ?? body)?.passed();
    status = await answer(reply, result.outcome, [...result.headers, ...cors, ...(match ? [] : allowHint(table, path)), ...parting(isDraining())], { isHead, requestId, isUnclear: head.isUnclear || (stream ?? body)?.isEndless() === true });
  }
  options.metrics.requested(match?.route.path ?? 'none', status, (performance.now() - startedAt) / 1000);
}

const parting = (isDraining: boolean): Header[] => (isDraining ? [['connection', 'close']] : []);

const methods = new Set(['GET', 'POST', 'PUT', 'DELETE']);
const nothing: RouteTable['match'] = () => undefined;

function tableFor(options: ServerOptions, path: string): { table: Pick<RouteTable, 'match'>; path: string } {
  if (path.startsWith(`${basePath}/`)) return { table: options.api, path: path.slice(basePath.length) };
  return path.startsWith('/api/') ? { table: { match: nothing }, path } : { table: options.root, path };
}

/** What a browser is going to call, where this is its preflight. */
function askedAbout(table: Pick<RouteTable, 'match'>, { method, headers }: Head, path: string): Match | undefined {
  const asked = method === 'OPTIONS' ? headers.get('access-control-request-method') : undefined;
  return asked !== undefined && methods.has(asked) ? table.match(asked as Method, path) : undefined;
}

const takesBody = ({ method }: Head): boolean => method === 'POST' || method === 'PUT';
const hasBody = (head: Head): boolean => takesBody(head) || head.headers.has('content-length') || head.headers.has('transfer-encoding');

function receiveOptions(head: Head, match: Match | undefined, { onAbort }: ReplyChannel): ReceiveOptions {
  const declared = head.headers.get('content-length');
  return { limitBytes: match?.route.maxBodyBytes ?? defaultMaxBodyBytes, declaredBytes: declared === undefined ? undefined : Number(declared), onAbort };
}
