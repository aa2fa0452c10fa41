import { z } from 'zod';
import { Problem, notFound, unavailable, validationProblem } from '../errors.ts';
import { readAs } from '../findings.ts';
import type { Survey } from '../domain/survey.ts';
import { isId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { vanishedOwner } from '../stores/postgres/vanished.ts';
import { isRedisAway } from '../stores/redis/away.ts';
import { problemText } from './answer.ts';
import { assertJsonType, assertPlainNumbers, parseJson, type IncomingBody, type IncomingStream } from './body.ts';
import { limitKeyOf } from './client-address.ts';
import type { HeaderName, HeaderValues } from './head.ts';
import { isSingle } from './query.ts';
import type { Limits, Standing } from './limits.ts';
import type { Authenticate, Principal } from './principal.ts';
import type { ReplyChannel } from './reply.ts';
import type { Call, Match, Outcome, SurveyKey, SurveyRight } from './route.ts';
import { told, wantsEvents } from './told.ts';

/** Finds the survey that a path parameter belongs to, and what the caller may do with it. */
export interface SurveyAccess {
  find(by: SurveyKey, value: string): Promise<Survey | undefined>;
  rightOf(principal: Principal, survey: Survey): Promise<SurveyRight | undefined>;
}

export interface DispatchDeps {
  authenticate: Authenticate;
  access: SurveyAccess;
  limits: Limits;
  log: Log;
  metrics: Pick<Metrics, 'refused'>;
}

/** What is known of a request before its route runs. */
export interface Arrival {
  match: Match | undefined;
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
interface Passage {
  standing: Standing | undefined;
}

/**
 * The stations of every request: who calls (401) → how often (429) → may they (404, 403) → what do they say (400, 413, 415) → the handler.
 * Whoever may not call is told nothing of what a call looks like.
 * Returns the outcome with its headers; never throws.
 */
export function createDispatch(deps: DispatchDeps) {
  return async (arrival: Arrival): Promise<{ outcome: Outcome | Problem; headers: Header[] }> => {
    const passage: Passage = { standing: undefined };
    const headers = () => headersOf(arrival, passage.standing);
    try {
      const outcome = await pass(deps, arrival, passage, headers);
      return { outcome, headers: headers() };
    } catch (error) {
      return { outcome: refusal(deps, arrival, error), headers: headers() };
    } finally {
      arrival.stream?.discard();
    }
  };
}

function refusal(deps: DispatchDeps, { requestId, match }: Arrival, error: unknown): Problem {
  const problem = asProblem(error, deps.log, { requestId, route: match?.route.path });
  // Balancers ask for readiness each second while a process stops by the book; nobody was refused anything.
  if (match?.route.limit !== 'none') deps.metrics.refused(problem.code);
  return problem;
}

async function pass(deps: DispatchDeps, arrival: Arrival, passage: Passage, replyHeaders: () => Header[]): Promise<Outcome> {
  const { match, problem } = arrival;
  if (!match || problem) {
    // Probes are not counted, whatever their headers hold.
    if (match?.route.limit !== 'none') await count(deps, passage, 'api', limitKeyOf(arrival.address));
    throw problem ?? notFound('route');
  }
  const { route, params } = match;
  // The public door for submissions counts its callers itself: nothing is to be waited for.
  const isFree = route.access.kind === 'public' && route.limit !== 'auth' && route.limit !== 'api';
  const principal = isFree ? undefined : await identify(deps, arrival, passage);
  const { survey, right } = principal ? await authorise(deps, arrival, principal) : {};
  const { query, body, rawBody } = await readInput(arrival).catch(async (error: unknown) => {
    // What is refused before the handler that would have counted it counts as a general call.
    if (isFree && route.limit === 'submit') await count(deps, passage, 'api', limitKeyOf(arrival.address));
    throw error;
  });
  const call = {
    params, query, body, rawBody, bodyPieces: () => arrival.stream?.pieces() ?? noPieces(), address: arrival.address, requestId: arrival.requestId, reply: arrival.reply, replyHeaders,
    header: (name: HeaderName) => arrival.headers.get(name), principal, survey, right,
  };
  // The schemas above have checked what the handler's own types promise; here they are forgotten.
  const known = call as unknown as Call<never, never>;
  if (route.isTold !== true || !wantsEvents(arrival.headers.get('accept'))) return route.handle(known);
  return told((reader) => route.handle({ ...known, reader }), (error) => problemText(refusal(deps, arrival, error), arrival.requestId));
}

async function count(deps: DispatchDeps, passage: Passage, scope: 'auth' | 'api', key: string, points?: number): Promise<void> {
  passage.standing = await deps.limits.consume(scope, key, points);
  if (!passage.standing.isAllowed) throw new Problem('RATE_LIMITED', undefined, { retryAfterSeconds: passage.standing.retryAfterSeconds });
}

/** The general limit counts by user or key; a call without a valid token counts by address, so that guessing tokens is limited too. */
async function identify(deps: DispatchDeps, arrival: Arrival, passage: Passage): Promise<Principal | undefined> {
  const { route } = arrival.match as Match;
  const byAddress = limitKeyOf(arrival.address);
  if (route.access.kind === 'public') {
    if (route.limit === 'auth' || route.limit === 'api') await count(deps, passage, route.limit, byAddress);
    return undefined;
  }
  let principal: Principal;
  try {
    principal = await deps.authenticate(arrival.headers.get('authorization'));
  } catch (error) {
    await count(deps, passage, 'api', byAddress);
    throw error;
  }
  await count(deps, passage, 'api', principal.keyId ?? principal.userId, principal.requestsPerMinute ?? undefined);
  return principal;
}

async function readInput(arrival: Arrival): Promise<{ query: unknown; body: unknown; rawBody: Buffer }> {
  const { route, params } = arrival.match as Match;
  assertNames(params);
  const query = route.query ? parseQuery(route.query, arrival.query) : route.bearsAnyQuery === true || arrival.query === '' ? {} : parseQuery(noQuery, arrival.query);
  return { query, ...(await readBody(arrival)) };
}

/** What cannot be a name is the name of nothing. */
function assertNames(params: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(params)) if (value.includes('\0') || ((name === 'id' || name.endsWith('Id')) && !isId(value))) throw notFound();
}

const noQuery = z.strictObject({});
/** Many clients send `{}` with every POST, also where nothing is to be said, and call it what they like. */
const noFields = z.strictObject({});

function parseQuery(schema: z.ZodType, query: string): unknown {
  const given: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (const [name, value] of new URLSearchParams(query)) {
    if (value.includes('\0')) throw validationProblem([{ path: name.replaceAll('\0', ''), message: 'holds a NUL character' }]);
    const known = given[name];
    given[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value];
  }
  const repeated = Object.keys(given).filter((name) => Array.isArray(given[name]) && isSingle(schema, name));
  if (repeated.length > 0) throw validationProblem(repeated.map((path) => ({ path, message: 'may be given once' })));
  return check(schema, { ...given });
}

const noBytes = Buffer.alloc(0);

async function* noPieces(): AsyncGenerator<Buffer> {}

async function readBody(arrival: Arrival): Promise<{ body: unknown; rawBody: Buffer }> {
  const { route } = arrival.match as Match;
  if (!arrival.body) return { body: undefined, rawBody: noBytes };
  const isRaw = route.bodyKind === 'raw';
  const isBare = !isRaw && (route.body === undefined || route.isBodyOptional === true);
  if (!isBare && !isRaw) assertJsonType(arrival.headers.get('content-type'), arrival.headers.get('content-encoding'));
  const bytes = await arrival.body.whole();
  if (isRaw) return { body: undefined, rawBody: bytes };
  if (isBare && bytes.length === 0) return { body: route.body ? check(route.body, {}) : undefined, rawBody: bytes };
  if (isBare && route.body) assertJsonType(arrival.headers.get('content-type'), arrival.headers.get('content-encoding'));
  const value = parseJson(bytes);
  assertPlainNumbers(value);
  const body = check(route.body ?? noFields, value);
  return { body: route.body && body, rawBody: bytes };
}

async function authorise(deps: DispatchDeps, arrival: Arrival, principal: Principal): Promise<{ survey?: Survey; right?: SurveyRight }> {
  const { route, params } = arrival.match as Match;
  const { access } = route;
  assertNames(params);
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
  if (!survey || !right) throw notFound(access.by === 'id' || access.by === 'surveyId' ? 'survey' : access.by.replace(/Id$/, ''));
  const isSelf = access.orSelf !== undefined && params[access.orSelf] === principal.userId && principal.keyId === null;
  if (rank[right] < rank[access.right] && !isSelf) throw new Problem('FORBIDDEN');
  return { survey, right };
}

const rank: Record<SurveyRight, number> = { read: 1, edit: 2, own: 3 };

/** Checks a value from outside against its schema; throws VALIDATION_ERROR with every finding. */
export function check<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const read = readAs(schema, value);
  if (read.isFit) return read.data;
  throw validationProblem(read.findings);
}

/** What was thrown, as the client may see it; a mistake of ours is logged. */
export function asProblem(error: unknown, log: Log, call: { requestId: string; route: string | undefined }): Problem {
  if (error instanceof Problem) return error;
  if (isRedisAway(error)) {
    log.warn({ err: error, ...call }, 'Redis did not serve a call');
    return unavailable('The service cannot reach what it needs for this right now', 2, error);
  }
  const vanished = vanishedOwner(error);
  if (vanished) return vanished === 'caller' ? new Problem('UNAUTHORIZED', 'The user is gone') : notFound('user');
  log.error({ err: error, ...call }, 'a handler failed');
  return new Problem('INTERNAL_ERROR');
}

function headersOf(arrival: Arrival, standing: Standing | undefined): Header[] {
  const headers: Header[] = [['x-request-id', arrival.requestId]];
  if (standing) headers.push(...standingHeaders(standing));
  return headers;
}

export function standingHeaders(standing: Pick<Standing, 'limit' | 'remaining' | 'resetAt'>): Header[] {
  return [
    ['x-ratelimit-limit', String(standing.limit)],
    ['x-ratelimit-remaining', String(standing.remaining)],
    ['x-ratelimit-reset', String(standing.resetAt)],
  ];
}
