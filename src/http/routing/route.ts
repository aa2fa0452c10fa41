import type { z } from 'zod';
import type { TextListener } from '../../ai/json-text-stream.ts';
import type { Survey } from '../../domain/survey.ts';
import type { StreamingBody } from '../server/reply.ts';
import type { HeaderName } from '../server/request-head.ts';
import type { AuditEvent } from './audit.ts';
import type { Principal } from './principal.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** The rights a caller can have on a survey, weakest first; each includes those before it. */
export type SurveyRight = 'read' | 'edit' | 'own';

/**
 * Who may call. For a survey's routes the route table itself looks the survey up (from the path parameter named in `by`) and checks
 * the right before the handler runs: no right to read gives 404, a lesser right than asked 403. Whoever is signed in and is named by the path parameter `orSelf`
 * needs no more than to read.
 */
export type Access =
  | { kind: 'public' }
  | { kind: 'user' }
  | { kind: 'editor' }
  | { kind: 'admin' }
  | { kind: 'survey'; right: SurveyRight; by: SurveyKey; orSelf?: string };

/** Path parameters from which a survey can be found. */
export type SurveyKey = 'surveyId' | 'id' | 'questionId' | 'responseId' | 'exportId' | 'uploadId' | 'suggestionId';

/** Which rate limit counts the call (contract §13). `none`: the handler counts it itself, or nothing does. */
export type LimitScope = 'auth' | 'submit' | 'api' | 'none';

export interface Pagination {
  page: number;
  limit: number;
  total: number;
  nextCursor?: string | null;
}

/** What a handler gives back. */
export type Outcome =
  | {
      kind: 'json';
      status: number;
      data: unknown;
      pagination?: Pagination;
      headers?: readonly (readonly [string, string])[];
      /** Recorded with the audit event of the route; not sent. */
      auditDetails?: Readonly<Record<string, unknown>>;
    }
  | { kind: 'text'; status: number; text: string; mediaType: string; headers?: readonly (readonly [string, string])[] }
  | {
      kind: 'stream';
      status: number;
      headers: readonly (readonly [string, string])[];
      source: AsyncIterable<Uint8Array>;
      totalBytes?: number;
    }
  /** server-sent events: the body stays open in the hands of `begin`, which resolves when nobody has to wait for it any more */
  | { kind: 'events'; begin(body: StreamingBody): void | Promise<void> }
  /** the handler has answered already */
  | { kind: 'written' };

export const ok = (data: unknown): Outcome => ({ kind: 'json', status: 200, data });
export const created = (data: unknown): Outcome => ({ kind: 'json', status: 201, data });
export const accepted = (data: unknown): Outcome => ({ kind: 'json', status: 202, data });
export const page = (data: unknown, pagination: Pagination): Outcome => ({
  kind: 'json',
  status: 200,
  data,
  pagination,
});

/** The same outcome; its audit event also names the survey. Null or undefined: no survey, or all. */
export const aboutSurvey = (surveyId: string | null | undefined, outcome: Outcome): Outcome =>
  outcome.kind === 'json' && surveyId ? { ...outcome, auditDetails: { surveyId } } : outcome;

export interface RouteRequest<Body = unknown, Query = unknown> {
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  header(name: HeaderName): string | undefined;
  /** The client's address, through trusted proxies. */
  address: string;
  requestId: string;
  /** Set on all routes but public ones. */
  principal: Principal;
  /** Set on routes with survey access. */
  survey: Survey;
  /** The caller's right on that survey. */
  right: SurveyRight;
  /** The raw body, for routes with `bodyKind: 'raw'`. */
  rawBody: Buffer;
  /** The body piece by piece, for routes with `bodyKind: 'stream'`; to be read once. */
  bodyChunks(): AsyncGenerator<Buffer>;
  /** For handlers that stream or take the connection over. */
  reply: import('../server/reply.ts').ReplyChannel;
  /** Set where the caller reads along, on routes with `isTold`. */
  reader?: TextListener;
  /** The standard headers of this reply (request id, limits), for handlers that take the connection over. */
  replyHeaders(): readonly (readonly [string, string])[];
}

export interface RouteSpec<Body extends z.ZodType = z.ZodType, Query extends z.ZodType = z.ZodType> {
  method: Method;
  /** Below the base address, with `{name}` parameters: `/surveys/{surveyId}`. Parameters that end in `Id`, and `id`, are UUIDs. */
  path: string;
  tag: string;
  summary: string;
  /** Longer text for the reference page: what the contract leaves to us is said here. */
  description?: string;
  access: Access;
  limit: LimitScope;
  query?: Query;
  /** Whatever stands in the query is passed over: probes and browsers add what they like. Elsewhere unknown fields are refused. */
  ignoresQuery?: boolean;
  body?: Body;
  /** A body may be left out altogether. */
  isBodyOptional?: boolean;
  /** Bytes of any media type, up to `maxBodyBytes`. `raw`: all at once. `stream`: as they come, for bodies too large to be held. */
  bodyKind?: 'json' | 'raw' | 'stream';
  maxBodyBytes?: number;
  /** `data` of the success envelope, or null for non-JSON replies (then `replyMediaType`). */
  reply: z.ZodType | null;
  replyMediaType?: string;
  replyStatus: number;
  /** The reply is a list and says where the page stands; `sometimes`: it depends on what is asked for. */
  isPaged?: boolean | 'sometimes';
  /** The reply may be told while it is written: see streamed-reply.ts. */
  isStreamed?: boolean;
  /** What the audit records of a call; `by handler`: the handler records it itself, as one call may have several events. */
  audit?: AuditEvent<RouteRequest<z.output<Body>, z.output<Query>>> | 'by handler';
  handle(call: RouteRequest<z.output<Body>, z.output<Query>>): Promise<Outcome>;
}

/** A route with its types forgotten, as the table holds it. */
export type Route = Omit<RouteSpec, 'handle' | 'audit'> & {
  audit?: AuditEvent<RouteRequest<never, never>> | 'by handler';
  handle(call: RouteRequest<never, never>): Promise<Outcome>;
};

/** Declares a route; the types of body and query follow from the schemas. */
export function route<Body extends z.ZodType, Query extends z.ZodType>(spec: RouteSpec<Body, Query>): Route {
  return spec as unknown as Route;
}

export const defaultMaxBodyBytes = 256 * 1024;

export interface RouteMatch {
  route: Route;
  params: Record<string, string>;
}

interface TrieNode {
  fixed: Map<string, TrieNode>;
  variable: TrieNode | undefined;
  routes: Map<Method, { route: Route; names: string[] }>;
}

const emptyTrieNode = (): TrieNode => ({ fixed: new Map(), variable: undefined, routes: new Map() });

/** Builds the look-up from method and path to route. Fixed segments win over parameters. */
export function createRouteTable(routes: readonly Route[]) {
  const root = emptyTrieNode();
  for (const entry of routes) insertRoute(root, entry);
  return {
    routes,
    /** The route and its percent-decoded parameters, or undefined when no path and method fit. */
    match(method: Method, path: string): RouteMatch | undefined {
      const segments = path.split('/');
      const values: string[] = [];
      const node = findNode(root, segments, 1, values, method);
      const found = node?.routes.get(method);
      if (!found) return undefined;
      const params: Record<string, string> = {};
      for (const [index, name] of found.names.entries()) params[name] = values[index] ?? '';
      return { route: found.route, params };
    },
  };
}

export type RouteTable = ReturnType<typeof createRouteTable>;

function insertRoute(root: TrieNode, entry: Route): void {
  let node = root;
  const names: string[] = [];
  for (const segment of entry.path.split('/').slice(1)) {
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name !== undefined) {
      names.push(name);
      node = node.variable ??= emptyTrieNode();
    } else {
      let next = node.fixed.get(segment);
      if (!next) node.fixed.set(segment, (next = emptyTrieNode()));
      node = next;
    }
  }
  if (node.routes.has(entry.method)) throw new Error(`two routes for ${entry.method} ${entry.path}`);
  node.routes.set(entry.method, { route: entry, names });
}

function findNode(
  node: TrieNode,
  segments: string[],
  at: number,
  values: string[],
  method: Method,
): TrieNode | undefined {
  if (at === segments.length) return node.routes.has(method) ? node : undefined;
  const segment = segments[at] ?? '';
  const fixed = node.fixed.get(segment);
  if (fixed) {
    const found = findNode(fixed, segments, at + 1, values, method);
    if (found) return found;
  }
  if (!node.variable || segment === '') return undefined;
  const depth = values.length;
  const decoded = decodeSegment(segment);
  if (decoded === undefined) return undefined;
  values.push(decoded);
  const found = findNode(node.variable, segments, at + 1, values, method);
  if (!found) values.length = depth;
  return found;
}

function decodeSegment(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
