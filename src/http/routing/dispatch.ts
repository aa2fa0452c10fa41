import { includesRight, type SurveyRight } from '../../auth/roles.ts';
import type { Survey } from '../../domain/survey.ts';
import { notFound, Problem, unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { type BoundedWarnings, createBoundedWarnings } from '../../platform/bounded-warnings.ts';
import { isId } from '../../platform/ids.ts';
import { missingOwnerOf } from '../../stores/postgres/errors.ts';
import { isRedisUnavailable } from '../../stores/redis/errors.ts';
import { rateLimitKeyOf } from '../server/client-address.ts';
import type { Header } from '../server/reply.ts';
import type { IncomingBody, IncomingStream } from '../server/request-body.ts';
import type { HeaderName, HeaderValues } from '../server/request-head.ts';
import { problemText } from '../server/write-response.ts';
import type { Authenticate, Principal } from './principal.ts';
import { type RateLimitStatus, type RateLimits, rateLimitHeaders } from './rate-limits.ts';
import { assertValidParams, readInput } from './read-input.ts';
import type { RefusalAudit } from './refusal-audit.ts';
import type { Outcome, RouteRequest } from './route.ts';
import type { RouteMatch } from './route-table.ts';
import { acceptsEventStream, streamReply } from './streamed-reply.ts';
import type { SurveyAccess } from './survey-access.ts';

export interface DispatchDeps {
  authenticate: Authenticate;
  /** The caller with the present role; undefined once the session, key or user is gone. */
  current(known: Principal): Promise<Principal | undefined>;
  access: Pick<SurveyAccess, 'findWithRight'>;
  limits: RateLimits;
  log: Log;
  metrics: Pick<Metrics, 'refused'>;
  /** Records refusals that point at an attack. */
  auditRefusal?: RefusalAudit;
}

/** What is known of a request before its route runs. */
export interface RequestContext {
  match: RouteMatch | undefined;
  /** A fault of the request head, for which any route refuses the call. */
  problem?: Problem | undefined;
  query: string;
  headers: HeaderValues;
  address: string;
  requestId: string;
  body: IncomingBody | undefined;
  /** Instead of `body`, for routes that take it piece by piece. */
  stream: IncomingStream | undefined;
  isHead: boolean;
  /** See RequestHead. The reply is no event stream then, since the engine cannot close the connection after one. */
  isFramingAmbiguous: boolean;
}

/** What becomes known while a request is dispatched. */
interface DispatchState {
  /** Sent with every reply, also with refusals. */
  rateLimit: RateLimitStatus | undefined;
  /** Undefined for public routes and callers that are not authenticated. */
  principal?: Principal;
}

/** Rights that were checked longer ago than this are checked again once the body is there. */
const recheckAfterMs = 200;

/**
 * Runs a request in this order: authenticate (401) → count (429) → authorise (404, 403) → read and validate (400, 413,
 * 415) → handle. Authorisation comes before validation, so that validation errors reveal nothing to strangers; it is
 * repeated after a body that came slowly, since a right may have ended meanwhile.
 * Returns the outcome with its headers; never throws.
 */
export function createDispatch(deps: DispatchDeps) {
  return async (context: RequestContext): Promise<{ outcome: Outcome | Problem; headers: Header[] }> => {
    const state: DispatchState = { rateLimit: undefined };
    try {
      const outcome = await runRoute(deps, context, state);
      return { outcome, headers: standardHeadersOf(context, state.rateLimit) };
    } catch (error) {
      const problem = toCountedProblem(deps, context, error);
      auditRefusal(deps, context, state, problem);
      return { outcome: problem, headers: standardHeadersOf(context, state.rateLimit) };
    } finally {
      context.stream?.discard();
    }
  };
}

function auditRefusal(
  deps: DispatchDeps,
  { match, headers, address }: RequestContext,
  { principal }: DispatchState,
  problem: Problem,
): void {
  if (!match || match.route.access.kind === 'public') return;
  deps.auditRefusal?.({
    problem,
    route: `${match.route.method} ${match.route.path}`,
    principal,
    authorization: headers.get('authorization'),
    address: rateLimitKeyOf(address),
  });
}

function toCountedProblem(deps: DispatchDeps, { requestId, match }: RequestContext, error: unknown): Problem {
  // Routes that are not counted, such as probes of a process that is stopping, refuse nobody.
  if (match?.route.limit === 'none' && error instanceof Problem) return error;
  const problem = toProblem(error, deps.log, { requestId, route: match?.route.path });
  deps.metrics.refused(problem.code);
  return problem;
}

async function runRoute(deps: DispatchDeps, context: RequestContext, state: DispatchState): Promise<Outcome> {
  const { match, problem } = context;
  if (!match || problem) {
    // Probes are not counted, whatever their headers hold.
    if (match?.route.limit !== 'none') await consumeRateLimit(deps, state, 'api', rateLimitKeyOf(context.address));
    throw problem ?? notFound('route');
  }
  const { route, params } = match;
  // The intake counts submissions, so nothing is waited for here.
  const isUncounted = route.access.kind === 'public' && route.limit !== 'auth' && route.limit !== 'api';
  const principal = isUncounted ? undefined : await identifyCaller(deps, context, state);
  const rights = principal ? await authorise(deps, context, principal) : {};
  const authorisedAt = performance.now();
  const authoriseAgain = async (): Promise<Partial<Rights> & { principal: Principal | undefined }> => {
    if (!principal || performance.now() - authorisedAt < recheckAfterMs) return { principal, ...rights };
    const current = await deps.current(principal);
    if (!current) throw new Problem('UNAUTHORIZED');
    return { principal: current, ...(await authorise(deps, context, current)) };
  };
  const { query, body, rawBody } = await readInput(match, context).catch(async (error: unknown) => {
    // Refused before the intake could count it: counts as a general call.
    if (isUncounted && route.limit === 'submit')
      await consumeRateLimit(deps, state, 'api', rateLimitKeyOf(context.address));
    throw error;
  });
  const input = {
    params,
    query,
    body,
    rawBody,
    bodyChunks: () => followed(context.stream?.chunks() ?? noChunks(), authoriseAgain),
    address: context.address,
    requestId: context.requestId,
    isHead: context.isHead,
    header: (name: HeaderName) => context.headers.get(name),
    ...(await authoriseAgain()),
  };
  // Checked by the schemas of the route, from which the handler has its types.
  const request = input as unknown as RouteRequest<never, never>;
  const isStreamed =
    route.isStreamed === true && !context.isFramingAmbiguous && acceptsEventStream(context.headers.get('accept'));
  if (!isStreamed) return route.handle(request);
  return streamReply(
    (reader) => route.handle({ ...request, reader }),
    (error) => problemText(toCountedProblem(deps, context, error), context.requestId),
  );
}

async function* noChunks(): AsyncGenerator<Buffer> {}

/** The chunks; their end waits for a check. */
async function* followed(chunks: AsyncGenerator<Buffer>, check: () => Promise<unknown>): AsyncGenerator<Buffer> {
  yield* chunks;
  await check();
}

async function consumeRateLimit(
  deps: Pick<DispatchDeps, 'limits'>,
  state: DispatchState,
  scope: 'auth' | 'api',
  key: string,
  points?: number,
): Promise<void> {
  state.rateLimit = await deps.limits.consume(scope, key, points);
  if (!state.rateLimit.isAllowed)
    throw new Problem('RATE_LIMITED', undefined, { retryAfterSeconds: state.rateLimit.retryAfterSeconds });
}

/**
 * Counts a call of an API key for all keys of its user. The headers tell the key's own limit, unless this one is used
 * up.
 */
async function consumeSharedLimit(
  deps: DispatchDeps,
  state: DispatchState,
  key: string,
  points: number,
): Promise<void> {
  const shared = await deps.limits.consume('api', key, points);
  if (shared.isAllowed) return;
  state.rateLimit = shared;
  throw new Problem('RATE_LIMITED', 'The API keys of this user have called too often', {
    retryAfterSeconds: shared.retryAfterSeconds,
  });
}

/**
 * Authenticates a call. Without a valid token it is counted by its address, so that guessing tokens is limited too.
 */
export async function authenticateCounted(
  deps: Pick<DispatchDeps, 'authenticate' | 'limits'>,
  { authorization, address }: { authorization: string | undefined; address: string },
  state: DispatchState = { rateLimit: undefined },
): Promise<Principal> {
  const addressKey = rateLimitKeyOf(address);
  try {
    return await deps.authenticate(authorization, () => deps.limits.isOverLimit(addressKey));
  } catch (error) {
    await consumeRateLimit(deps, state, 'api', addressKey);
    throw error;
  }
}

/** Authenticates and counts by user or API key, and public calls by address. */
async function identifyCaller(
  deps: DispatchDeps,
  context: RequestContext,
  state: DispatchState,
): Promise<Principal | undefined> {
  const { route } = context.match as RouteMatch;
  const { address, headers } = context;
  if (route.access.kind === 'public') {
    if (route.limit === 'auth' || route.limit === 'api')
      await consumeRateLimit(deps, state, route.limit, rateLimitKeyOf(address));
    return undefined;
  }
  const principal = await authenticateCounted(deps, { authorization: headers.get('authorization'), address }, state);
  state.principal = principal;
  await consumeRateLimit(
    deps,
    state,
    'api',
    principal.keyId ?? principal.userId,
    principal.requestsPerMinute ?? undefined,
  );
  if (principal.keyCeiling !== null)
    await consumeSharedLimit(deps, state, `keys:${principal.userId}`, principal.keyCeiling);
  return principal;
}

/** What the caller may do with the survey of the path, if the route needs a right to one. */
interface Rights {
  survey: Survey;
  right: SurveyRight;
}

/** The survey that the query chooses; what is no id is refused with the other input. */
function chosenSurveyId(name: string | undefined, query: string): string | undefined {
  const chosen = name === undefined ? null : new URLSearchParams(query).get(name);
  return chosen !== null && isId(chosen) ? chosen : undefined;
}

async function authorise(deps: DispatchDeps, context: RequestContext, principal: Principal): Promise<Partial<Rights>> {
  const { route, params } = context.match as RouteMatch;
  const { access } = route;
  assertValidParams(params);
  if (access.kind === 'public') return {};
  if (access.kind !== 'survey' && access.refusesKeys && principal.keyId !== null)
    throw new Problem('FORBIDDEN', 'An API key cannot do this; sign in');
  if (access.kind === 'user') return {};
  if (access.kind === 'admin') {
    if (principal.role !== 'ADMIN') throw new Problem('FORBIDDEN', 'Only an ADMIN may do this');
    return {};
  }
  if (access.kind === 'editor') {
    if (principal.role === 'VIEWER') throw new Problem('FORBIDDEN', 'A VIEWER may only read');
    return {};
  }
  const wanted = { ...access, surveyId: chosenSurveyId(access.chosenBy, context.query) };
  const found = await deps.access.findWithRight(principal, wanted, params[access.by] ?? '');
  if (!found) throw notFound(access.by === 'id' || access.by === 'surveyId' ? 'survey' : access.by.replace(/Id$/, ''));
  const isSelf = access.orSelf !== undefined && params[access.orSelf] === principal.userId && principal.keyId === null;
  if (!includesRight(found.right, access.right) && !isSelf) throw new Problem('FORBIDDEN');
  return found;
}

const warnings = new WeakMap<Log, BoundedWarnings>();

/** While a store is away every call would write a line: all that share a log are bounded together. */
function warningsOf(log: Log): BoundedWarnings {
  const known = warnings.get(log);
  if (known) return known;
  const made = createBoundedWarnings(log);
  warnings.set(log, made);
  return made;
}

/**
 * Turns an error into the problem that the client gets. Unexpected errors are logged and become INTERNAL_ERROR.
 * SERVICE_UNAVAILABLE is logged too, within bounds, where the reply does not tell the cause.
 */
export function toProblem(
  error: unknown,
  log: Log,
  request: { requestId: string; route: string | undefined },
): Problem {
  const problem = expectedProblemOf(error);
  if (problem?.code === 'SERVICE_UNAVAILABLE' && problem.cause !== undefined)
    warningsOf(log)({ err: problem, ...request }, 'a call was refused');
  if (problem) return problem;
  log.error({ err: error, ...request }, 'a handler failed');
  return new Problem('INTERNAL_ERROR');
}

function expectedProblemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (isRedisUnavailable(error))
    return unavailable('The service cannot reach what it needs for this right now', 2, error);
  const missingOwner = missingOwnerOf(error);
  if (missingOwner)
    return missingOwner === 'caller' ? new Problem('UNAUTHORIZED', 'The user is gone') : notFound('user');
  return undefined;
}

function standardHeadersOf(context: RequestContext, rateLimit: RateLimitStatus | undefined): Header[] {
  const headers: Header[] = [['x-request-id', context.requestId]];
  if (rateLimit) headers.push(...rateLimitHeaders(rateLimit));
  return headers;
}
