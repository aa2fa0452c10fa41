import assert from 'node:assert/strict';
import { type ProblemCode, problemTable } from '../../src/errors.ts';
import { refusalsOf } from '../../src/http/reference/refusals.ts';
import { otherRepliesOf } from '../../src/http/reference/replies.ts';
import type { Method, OtherReply, Route } from '../../src/http/routing/route.ts';
import { paginationSchema, problemSchema } from '../../src/http/schemas/common.ts';
import type { Reply } from './client.ts';
import { everyRoute } from './every-route.ts';

const { api, root } = await everyRoute();
// Views of the console have addresses like /audit; what is called below the base address is the API.
const routes = new Map([...root, ...api].map((route) => [`${route.method} ${route.path}`, route]));

/** Every route below the base address, as `METHOD /path/{id}`; for tests that want to have called all of them. */
export const apiRouteNames: readonly string[] = api.map(({ method, path }) => `${method} ${path}`);

/**
 * Holds a reply against what its route promises: status, envelope, `data` field by field, standing headers; a refusal
 * must have a code that the reference names for the route. `route` is the method and the path template.
 */
export function assertConforms(route: `${Method} ${string}`, reply: Reply): void {
  const declared = routes.get(route);
  assert.ok(declared, `there is no route ${route}`);
  const where = `${route} (${reply.status})`;
  assertStandardHeaders(declared, reply, where);
  if (reply.status >= 400) {
    assertProblem(declared, reply, where);
    return;
  }
  const { data: schema, mediaType } = promised(declared, reply, where);
  if (!schema) {
    assertMediaType(mediaType, reply, where);
    return;
  }
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json/, where);
  const { success, data, pagination, ...rest } = reply.body;
  assert.equal(success, true, where);
  assert.deepEqual(rest, {}, `${where} has fields beside the envelope`);
  if (declared.isPaged !== 'sometimes')
    assert.equal(pagination !== undefined, declared.isPaged === true, `${where}: pagination`);
  if (pagination !== undefined) assertFits(paginationSchema, pagination, `${where} pagination`);
  assertFits(schema, data, `${where} data`);
}

/** The success that the route promises with this status, and with JSON or without as the reply has it. */
function promised(route: Route, { status, headers }: Reply, where: string): Pick<OtherReply, 'data' | 'mediaType'> {
  const { replyStatus, reply, replyMediaType } = route;
  const own = {
    status: replyStatus,
    ...(reply && { data: reply }),
    ...(replyMediaType !== undefined && { mediaType: replyMediaType }),
  };
  const fitting = [own, ...otherRepliesOf(route)].filter((promise) => promise.status === status);
  assert.ok(fitting.length > 0, `${where}: the route promises ${replyStatus}`);
  const isJson = headers.get('content-type')?.startsWith('application/json') ?? false;
  return fitting.find(({ data }) => (data !== undefined) === isJson) ?? own;
}

function assertFits(schema: NonNullable<Route['reply']>, value: unknown, where: string): void {
  const result = schema.safeParse(value);
  assert.ok(result.success, `${where}: ${result.error?.message}\n${JSON.stringify(value).slice(0, 2000)}`);
}

function assertStandardHeaders(route: Route, { headers }: Reply, where: string): void {
  assert.match(headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{1,64}$/, `${where}: X-Request-Id`);
  if (route.limit === 'none') return;
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
    assert.match(headers.get(name) ?? '', /^\d+$/, `${where}: ${name}`);
}

function assertProblem(route: Route, reply: Reply, where: string): void {
  assertFits(problemSchema, reply.body, where);
  const code = reply.body.code as ProblemCode;
  assert.equal(reply.status, problemTable[code].status, where);
  assert.equal(reply.body.requestId, reply.headers.get('x-request-id'), where);
  assert.ok(refusalsOf(route).includes(code), `${where}: the reference does not name ${code} for this route`);
  if (['RATE_LIMITED', 'SERVICE_UNAVAILABLE', 'AI_RATE_LIMITED'].includes(code))
    assert.match(reply.headers.get('retry-after') ?? '', /^[1-9]\d*$/, `${where}: Retry-After`);
  if (code === 'CONFLICT') assert.equal(typeof reply.body.details?.reason, 'string', `${where}: details.reason`);
}

function assertMediaType(mediaType: string | undefined, { headers }: Reply, where: string): void {
  const given = headers.get('content-type');
  assert.ok(given, `${where}: Content-Type`);
  const isAny = mediaType === undefined || mediaType === '*/*' || mediaType === 'application/octet-stream';
  if (!isAny) assert.ok(given.startsWith(mediaType), `${where}: ${given} is not ${mediaType}`);
}
