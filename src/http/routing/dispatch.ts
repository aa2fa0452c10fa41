import { z } from 'zod';
import type { Survey } from '../../domain/survey.ts';
import { notFound, Problem, unavailable, validationProblem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { isId } from '../../platform/ids.ts';
import { validate } from '../../platform/zod-messages.ts';
import { missingOwnerOf } from '../../stores/postgres/errors.ts';
import { isRedisUnavailable } from '../../stores/redis/errors.ts';
import { takesOneValue } from '../schemas/query-fields.ts';
import { rateLimitKeyOf } from '../server/client-address.ts';
import type { ReplyChannel } from '../server/reply.ts';
import {
  assertExactNumbers,
  assertJsonType,
  type IncomingBody,
  type IncomingStream,
  parseJson,
} from '../server/request-body.ts';
import type { HeaderName, HeaderValues } from '../server/request-head.ts';
import { problemText } from '../server/write-response.ts';
import type { Authenticate, Principal } from './principal.ts';
import type { RateLimitStatus, RateLimits } from './rate-limits.ts';
import type { Outcome, RouteMatch, RouteRequest, SurveyKey, SurveyRight } from './route.ts';
import { acceptsEventStream, streamReply } from './streamed-reply.ts';

/** Finds the survey that a path parameter belongs to, and what the caller may do with it. */
export interface SurveyAccess {
  find(by: SurveyKey, value: string): Promise<Survey | undefined>;
  rightOf(principal: Principal, survey: Survey): Promise<SurveyRight | undefined>;
}

export interface DispatchDeps {
  authenticate: Authenticate;
  access: SurveyAccess;
  limits: RateLimits;
  log: Log;
  metrics: Pick<Metrics, 'refused'>;
}

/** What is known of a request before its route runs. */
export interface RequestContext {
  match: RouteMatch | undefined;
  /** Why the call is refused whatever it asks for. */
  problem?: Problem | undefined;
  query: string;
  headers: HeaderValues;
  address: string;
  requestId: string;
  body: IncomingBody | undefined;
  /** Instead of `body`, for routes that take it piece by piece. */
  stream: IncomingStream | undefined;
  reply: ReplyChannel;
}

type Header = readonly [string, string];

/** Carries the standing headers while a request goes through its stations. */
interface DispatchState {
  rateLimit: RateLimitStatus | undefined;
}

/**
 * The stations of every request: who calls (401) → how often (429) → may they (404, 403) → what do they say (400, 413, 415) → the handler.
 * Whoever may not call is told nothing of what a call looks like.
 * Returns the outcome with its headers; never throws.
 */
export function createDispatch(deps: DispatchDeps) {
  return async (context: RequestContext): Promise<{ outcome: Outcome | Problem; headers: Header[] }> => {
    const state: DispatchState = { rateLimit: undefined };
    const standardHeaders = () => standardHeadersOf(context, state.rateLimit);
    try {
      const outcome = await runRoute(deps, context, state, standardHeaders);
      return { outcome, headers: standardHeaders() };
    } catch (error) {
      return { outcome: toCountedProblem(deps, context, error), headers: standardHeaders() };
    } finally {
      context.stream?.discard();
    }
  };
}

function toCountedProblem(deps: DispatchDeps, { requestId, match }: RequestContext, error: unknown): Problem {
  const problem = toProblem(error, deps.log, { requestId, route: match?.route.path });
  // Balancers ask for readiness each second while a process stops by the book; nobody was refused anything.
  if (match?.route.limit !== 'none') deps.metrics.refused(problem.code);
  return problem;
}

async function runRoute(
  deps: DispatchDeps,
  context: RequestContext,
  state: DispatchState,
  replyHeaders: () => Header[],
): Promise<Outcome> {
  const { match, problem } = context;
  if (!match || problem) {
    // Probes are not counted, whatever their headers hold.
    if (match?.route.limit !== 'none') await consumeRateLimit(deps, state, 'api', rateLimitKeyOf(context.address));
    throw problem ?? notFound('route');
  }
  const { route, params } = match;
  // The public door for submissions counts its callers itself: nothing is to be waited for.
  const isUncounted = route.access.kind === 'public' && route.limit !== 'auth' && route.limit !== 'api';
  const principal = isUncounted ? undefined : await identifyCaller(deps, context, state);
  const { survey, right } = principal ? await authorise(deps, context, principal) : {};
  const { query, body, rawBody } = await readInput(context).catch(async (error: unknown) => {
    // What is refused before the handler that would have counted it counts as a general call.
    if (isUncounted && route.limit === 'submit')
      await consumeRateLimit(deps, state, 'api', rateLimitKeyOf(context.address));
    throw error;
  });
  const input = {
    params,
    query,
    body,
    rawBody,
    bodyChunks: () => context.stream?.chunks() ?? noChunks(),
    address: context.address,
    requestId: context.requestId,
    reply: context.reply,
    replyHeaders,
    header: (name: HeaderName) => context.headers.get(name),
    principal,
    survey,
    right,
  };
  // The schemas above have checked what the handler's own types promise; here they are forgotten.
  const request = input as unknown as RouteRequest<never, never>;
  if (route.isStreamed !== true || !acceptsEventStream(context.headers.get('accept'))) return route.handle(request);
  return streamReply(
    (reader) => route.handle({ ...request, reader }),
    (error) => problemText(toCountedProblem(deps, context, error), context.requestId),
  );
}

async function consumeRateLimit(
  deps: DispatchDeps,
  state: DispatchState,
  scope: 'auth' | 'api',
  key: string,
  points?: number,
): Promise<void> {
  state.rateLimit = await deps.limits.consume(scope, key, points);
  if (!state.rateLimit.isAllowed)
    throw new Problem('RATE_LIMITED', undefined, { retryAfterSeconds: state.rateLimit.retryAfterSeconds });
}

/** The general limit counts by user or key; a call without a valid token counts by address, so that guessing tokens is limited too. */
async function identifyCaller(
  deps: DispatchDeps,
  context: RequestContext,
  state: DispatchState,
): Promise<Principal | undefined> {
  const { route } = context.match as RouteMatch;
  const addressKey = rateLimitKeyOf(context.address);
  if (route.access.kind === 'public') {
    if (route.limit === 'auth' || route.limit === 'api') await consumeRateLimit(deps, state, route.limit, addressKey);
    return undefined;
  }
  let principal: Principal;
  try {
    principal = await deps.authenticate(context.headers.get('authorization'));
  } catch (error) {
    await consumeRateLimit(deps, state, 'api', addressKey);
    throw error;
  }
  await consumeRateLimit(
    deps,
    state,
    'api',
    principal.keyId ?? principal.userId,
    principal.requestsPerMinute ?? undefined,
  );
  return principal;
}

async function readInput(context: RequestContext): Promise<{ query: unknown; body: unknown; rawBody: Buffer }> {
  const { route, params } = context.match as RouteMatch;
  assertValidParams(params);
  const query = route.query
    ? parseQuery(route.query, context.query)
    : route.ignoresQuery === true || context.query === ''
      ? {}
      : parseQuery(noQuery, context.query);
  return { query, ...(await readBody(context)) };
}

/** What cannot be a name is the name of nothing. */
function assertValidParams(params: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(params))
    if (value.includes('\0') || ((name === 'id' || name.endsWith('Id')) && !isId(value))) throw notFound();
}

const noQuery = z.strictObject({});
/** Many clients send `{}` with every POST, also where nothing is to be said, and call it what they like. */
const noFields = z.strictObject({});

function parseQuery(schema: z.ZodType, query: string): unknown {
  const values: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (const [name, value] of new URLSearchParams(query)) {
    if (value.includes('\0'))
      throw validationProblem([{ path: name.replaceAll('\0', ''), message: 'holds a NUL character' }]);
    const previous = values[name];
    values[name] = previous === undefined ? value : [...(Array.isArray(previous) ? previous : [previous]), value];
  }
  const repeated = Object.keys(values).filter((name) => Array.isArray(values[name]) && takesOneValue(schema, name));
  if (repeated.length > 0) throw validationProblem(repeated.map((path) => ({ path, message: 'may be given once' })));
  return validateInput(schema, { ...values });
}

const noBytes = Buffer.alloc(0);

async function* noChunks(): AsyncGenerator<Buffer> {}

async function readBody(context: RequestContext): Promise<{ body: unknown; rawBody: Buffer }> {
  const { route } = context.match as RouteMatch;
  if (!context.body) return { body: undefined, rawBody: noBytes };
  const isRaw = route.bodyKind === 'raw';
  const isBare = !isRaw && (route.body === undefined || route.isBodyOptional === true);
  if (!isBare && !isRaw) assertJsonType(context.headers.get('content-type'), context.headers.get('content-encoding'));
  const bytes = await context.body.whole();
  if (isRaw) return { body: undefined, rawBody: bytes };
  if (isBare && bytes.length === 0)
    return { body: route.body ? validateInput(route.body, {}) : undefined, rawBody: bytes };
  if (isBare && route.body)
    assertJsonType(context.headers.get('content-type'), context.headers.get('content-encoding'));
  const value = parseJson(bytes);
  assertExactNumbers(value);
  const body = validateInput(route.body ?? noFields, value);
  return { body: route.body && body, rawBody: bytes };
}

async function authorise(
  deps: DispatchDeps,
  context: RequestContext,
  principal: Principal,
): Promise<{ survey?: Survey; right?: SurveyRight }> {
  const { route, params } = context.match as RouteMatch;
  const { access } = route;
  assertValidParams(params);
  if (access.kind === 'public' || access.kind === 'user') return {};
  if (access.kind === 'admin') {
    if (principal.role !== 'ADMIN') throw new Problem('FORBIDDEN', 'Only an ADMIN may do this');
    return {};
  }
  if (access.kind === 'editor') {
    if (principal.role === 'VIEWER') throw new Problem('FORBIDDEN', 'A VIEWER may only read');
    return {};
  }
  const survey = await deps.access.find(access.by, params[access.by] ?? '');
  const right = survey && (await deps.access.rightOf(principal, survey));
  if (!survey || !right)
    throw notFound(access.by === 'id' || access.by === 'surveyId' ? 'survey' : access.by.replace(/Id$/, ''));
  const isSelf = access.orSelf !== undefined && params[access.orSelf] === principal.userId && principal.keyId === null;
  if (rightRank[right] < rightRank[access.right] && !isSelf) throw new Problem('FORBIDDEN');
  return { survey, right };
}

const rightRank: Record<SurveyRight, number> = { read: 1, edit: 2, own: 3 };

/** Checks a value from outside against its schema; throws VALIDATION_ERROR with every finding. */
export function validateInput<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = validate(schema, value);
  if (result.isValid) return result.data;
  throw validationProblem(result.issues);
}

/** What was thrown, as the client may see it; a mistake of ours is logged. */
export function toProblem(
  error: unknown,
  log: Log,
  request: { requestId: string; route: string | undefined },
): Problem {
  if (error instanceof Problem) return error;
  if (isRedisUnavailable(error)) {
    log.warn({ err: error, ...request }, 'Redis was unavailable for a request');
    return unavailable('The service cannot reach what it needs for this right now', 2, error);
  }
  const missingOwner = missingOwnerOf(error);
  if (missingOwner)
    return missingOwner === 'caller' ? new Problem('UNAUTHORIZED', 'The user is gone') : notFound('user');
  log.error({ err: error, ...request }, 'a handler failed');
  return new Problem('INTERNAL_ERROR');
}

function standardHeadersOf(context: RequestContext, rateLimit: RateLimitStatus | undefined): Header[] {
  const headers: Header[] = [['x-request-id', context.requestId]];
  if (rateLimit) headers.push(...rateLimitHeaders(rateLimit));
  return headers;
}

export function rateLimitHeaders(status: Pick<RateLimitStatus, 'limit' | 'remaining' | 'resetAt'>): Header[] {
  return [
    ['x-ratelimit-limit', String(status.limit)],
    ['x-ratelimit-remaining', String(status.remaining)],
    ['x-ratelimit-reset', String(status.resetAt)],
  ];
}
