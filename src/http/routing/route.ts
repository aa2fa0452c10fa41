import type { z } from 'zod';
import type { TextListener } from '../../ai/json-text-stream.ts';
import type { SurveyRight } from '../../auth/roles.ts';
import type { Survey } from '../../domain/survey.ts';
import type { ProblemCode } from '../../errors.ts';
import { createPauses, runInSlices } from '../../platform/slices.ts';
import type { AuditRecord } from '../../stores/postgres/audit.ts';
import type { Header, Pieces, StreamingBody } from '../server/reply.ts';
import type { HeaderName } from '../server/request-head.ts';
import { sliceJson } from '../server/sliced-json.ts';
import type { Principal } from './principal.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * Access of a route. For `survey`, dispatch finds the survey by the path parameter `by` and checks the right before the
 * handler runs: without the right to read it is a 404, with a lesser right than `right` a 403. A user with a session
 * who is named by the path parameter `orSelf` only needs the right to read. Where several surveys share what `by` names,
 * the caller may choose one of them by the query parameter `chosenBy`. With `refusesKeys` API keys are refused, whatever
 * their role.
 */
export type Access =
  | { kind: 'public' }
  | { kind: 'user'; refusesKeys?: boolean }
  | { kind: 'editor'; refusesKeys?: boolean }
  | { kind: 'admin'; refusesKeys?: boolean }
  | { kind: 'survey'; right: SurveyRight; by: SurveyKey; orSelf?: string; chosenBy?: string };

/** Path parameters from which a survey can be found. */
export type SurveyKey =
  | 'surveyId'
  | 'id'
  | 'questionId'
  | 'responseId'
  | 'exportId'
  | 'uploadId'
  | 'suggestionId'
  | 'collectorId';

/** Which rate limit counts the call. `submit`: the intake does. `none`: the handler does, or nothing. */
export type LimitScope = 'auth' | 'submit' | 'api' | 'none';

export interface Pagination {
  page: number;
  limit: number;
  total: number;
  nextCursor?: string | null;
}

/** The result of a handler; refusals are thrown as a Problem. */
export type Outcome =
  | {
      kind: 'json';
      status: number;
      data: unknown;
      pagination?: Pagination;
      headers?: readonly Header[];
      /** Recorded with the audit event of the route; not sent. */
      auditDetails?: Readonly<Record<string, unknown>>;
    }
  | { kind: 'text'; status: number; text: string; mediaType: string; headers?: readonly Header[] }
  | {
      kind: 'bytes';
      status: number;
      bytes: Uint8Array;
      headers: readonly Header[];
    }
  | {
      kind: 'stream';
      status: number;
      headers: readonly Header[];
      source: Pieces;
      totalBytes?: number;
    }
  /** Server-sent events: `begin` writes the body, and resolves when the call no longer counts as running. */
  | { kind: 'events'; begin(body: StreamingBody): void | Promise<void> }
  /** A reply without a body, such as 304. */
  | { kind: 'head'; status: number; headers: readonly Header[]; contentLength?: number };

export const ok = (data: unknown): Outcome => ({ kind: 'json', status: 200, data });
/** A reply of megabytes: its JSON is made in slices, so that other calls are answered meanwhile. */
const inSlices = async (body: { data: unknown; pagination?: Pagination }, user?: string): Promise<Outcome> => ({
  kind: 'bytes',
  status: 200,
  headers: [
    ['content-type', 'application/json; charset=utf-8'],
    ['cache-control', 'no-store'],
  ],
  bytes: await runInSlices(sliceJson({ success: true, ...body }), user),
});
/** `ok` for data of megabytes, which share the turns of the user, if one is given. */
export const okInSlices = (data: unknown, user?: string): Promise<Outcome> => inSlices({ data }, user);
export const created = (data: unknown): Outcome => ({ kind: 'json', status: 201, data });
export const accepted = (data: unknown): Outcome => ({ kind: 'json', status: 202, data });
export const page = (data: unknown, pagination: Pagination): Outcome => ({
  kind: 'json',
  status: 200,
  data,
  pagination,
});

/** `page` for items that take megabytes together. */
export const pageInSlices = (data: unknown, pagination: Pagination, user?: string): Promise<Outcome> =>
  inSlices({ data, pagination }, user);

/** `page` for items of any size: each piece is read once the one before is on its way. */
export const pageInPieces = (pieces: AsyncIterable<readonly unknown[]>, pagination: Pagination): Outcome => ({
  kind: 'stream',
  status: 200,
  headers: [
    ['content-type', 'application/json; charset=utf-8'],
    ['cache-control', 'no-store'],
    ['x-content-type-options', 'nosniff'],
  ],
  source: pageText(pieces, pagination),
});

async function* pageText(pieces: AsyncIterable<readonly unknown[]>, pagination: Pagination): AsyncGenerator<Buffer> {
  const pauseIfDue = createPauses();
  yield Buffer.from('{"success":true,"data":[');
  let separator = '';
  for await (const items of pieces)
    for (const item of items) {
      yield Buffer.from(separator + JSON.stringify(item));
      separator = ',';
      await pauseIfDue();
    }
  yield Buffer.from(`],"pagination":${JSON.stringify(pagination)}}`);
}

/** The same outcome; its audit event also names the version of the survey that the call made; undefined: it made none. */
export const withVersion = (version: number | undefined, outcome: Outcome): Outcome =>
  outcome.kind === 'json' && version !== undefined
    ? { ...outcome, auditDetails: { ...outcome.auditDetails, version } }
    : outcome;

/** The same outcome; its audit event also names the survey. Null or undefined: no survey, or all. */
export const aboutSurvey = (surveyId: string | null | undefined, outcome: Outcome): Outcome =>
  outcome.kind === 'json' && surveyId ? { ...outcome, auditDetails: { ...outcome.auditDetails, surveyId } } : outcome;

export interface RouteRequest<Body = unknown, Query = unknown> {
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  header(name: HeaderName): string | undefined;
  /** The reply is sent without its body. */
  isHead: boolean;
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
  /** Set on routes with `isStreamed` if the caller accepts server-sent events: gets the text while it is written. */
  reader?: TextListener;
}

/** The audit event of a route: what is recorded after a call has succeeded, or failed if `isRecordedOnFailure`. */
export interface AuditEvent<Request = RouteRequest> extends Pick<AuditRecord, 'action' | 'objectKind'> {
  /**
   * Names the object, and what else is worth recording. `data` is that of a JSON reply, otherwise empty; `call` is
   * method and path.
   * Returns undefined if the call changed nothing.
   */
  describe(request: Request, data: Record<string, unknown>, call: string): AuditedObject | undefined;
  /** An actor's calls for the same object are recorded at most once in this time and process. Default: each is. */
  intervalMs?: number;
  /** A call whose handler fails is recorded too, with `failed` among its details; `data` is empty then. */
  isRecordedOnFailure?: boolean;
}

/**
 * `action` replaces that of the event. `details` hold names of changed fields but no values, since those may have to be
 * erased.
 */
type AuditedObject = Pick<AuditRecord, 'objectId'> & Partial<Pick<AuditRecord, 'action' | 'details'>>;

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
  /**
   * Below the base address, with `{name}` parameters: `/surveys/{surveyId}`. Parameters that end in `Id`, and `id`, are
   * UUIDs.
   */
  path: string;
  /**
   * Name of the operation in generated clients: a verb and its object, never changed. Routes of the reference must have
   * one.
   */
  operationId?: string;
  tag: string;
  summary: string;
  /** Longer text for the reference. */
  description?: string;
  access: Access;
  limit: LimitScope;
  query?: Query;
  /**
   * For replies that are pages: parameters of the path that cannot be decoded, or hold NUL, come as they stand there,
   * and those of the query that hold NUL are left out; repeated ones are left to the schema. Without this all of them
   * are refused.
   */
  takesRubbish?: boolean;
  /** Ignores the query, as probes and browsers may add one. Without this, unknown fields are refused. */
  ignoresQuery?: boolean;
  body?: Body;
  /** The body may be left out. */
  isBodyOptional?: boolean;
  /**
   * `raw`: bytes of any media type, at once. `stream`: in chunks, for bodies too large for memory. JSON if left out.
   */
  bodyKind?: 'json' | 'raw' | 'stream';
  maxBodyBytes?: number;
  /** For the reference: the media types of a `stream` body that is no file; any if left out. */
  bodyMediaTypes?: readonly string[];
  /** `data` of the success envelope, or null for non-JSON replies (then `replyMediaType`). */
  reply: z.ZodType | null;
  replyMediaType?: string;
  replyStatus: number;
  /** The reply is a list with `pagination`; `sometimes`: only for some requests. */
  isPaged?: boolean | 'sometimes';
  /** The reply may be streamed while it is written: see streamed-reply.ts. */
  isStreamed?: boolean;
  /**
   * For the reference: calls an AI provider, in its reply or in a job. A job that takes longer is replied to with 202:
   * see ai-job-reply.ts.
   */
  asksProvider?: 'in reply' | 'in job';
  /** For the reference: codes beyond those that follow from access, limit, query and body. */
  refusals?: readonly ProblemCode[];
  /** For the reference: a public route that looks at a token all the same. */
  takesBearer?: boolean;
  /** For the reference: a public route that reads the token of a PRIVATE survey from its header. */
  readsSurveyToken?: boolean;
  /** For the reference: further successful replies. */
  otherReplies?: readonly OtherReply[];
  /** For the reference: what a file may be; just `replyMediaType` if left out. */
  mediaTypes?: readonly string[];
  /**
   * Says what the audit records of a call; `by handler`: what the handler calls records it, as one call may have
   * several events, or its event has to be written before or with the change.
   */
  audit?: AuditEvent<RouteRequest<z.output<Body>, z.output<Query>>> | 'by handler';
  handle(call: RouteRequest<z.output<Body>, z.output<Query>>): Promise<Outcome>;
}

/** A route without its body and query types, as the table holds it. */
export type Route = Omit<RouteSpec, 'handle' | 'audit'> & {
  audit?: AuditEvent<RouteRequest<never, never>> | 'by handler';
  handle(call: RouteRequest<never, never>): Promise<Outcome>;
};

/** Declares a route; the types of body and query follow from the schemas. */
export function route<Body extends z.ZodType, Query extends z.ZodType>(spec: RouteSpec<Body, Query>): Route {
  return spec as unknown as Route;
}

export const defaultMaxBodyBytes = 256 * 1024;
