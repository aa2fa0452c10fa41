import type { z } from 'zod';
import type { TextListener } from '../../ai/json-text-stream.ts';
import type { Survey } from '../../domain/survey.ts';
import type { ProblemCode } from '../../errors.ts';
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

/** A successful reply of a route beside the declared one. */
export interface OtherReply {
  status: number;
  description: string;
  /** `data` of the envelope; without it the reply is no JSON, and `mediaType` says what it is. */
  data?: z.ZodType;
  mediaType?: string;
  /** Has no body at all. */
  isEmpty?: true;
  /** Beside those of every reply. */
  headers?: readonly string[];
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
  /** For the reference: codes beyond those that follow from access, limit, query and body. */
  refusals?: readonly ProblemCode[];
  /** For the reference: a public route that looks at a token all the same. */
  takesBearer?: boolean;
  /** For the reference: further successful replies. */
  otherReplies?: readonly OtherReply[];
  /** For the reference: what a file may be; just `replyMediaType` if left out. */
  mediaTypes?: readonly string[];
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
