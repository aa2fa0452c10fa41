import { z } from 'zod';
import { notFound, validationProblem } from '../../errors.ts';
import { isId } from '../../platform/ids.ts';
import { validate } from '../../platform/zod-messages.ts';
import { takesOneValue } from '../schemas/query-fields.ts';
import { assertExactNumbers, assertJsonType, type IncomingBody, parseJson } from '../server/request-body.ts';
import type { HeaderValues } from '../server/request-head.ts';
import type { Route } from './route.ts';
import type { RouteMatch } from './route-table.ts';

/** What a route takes besides its path parameters, as a request holds it. */
export interface RawInput {
  query: string;
  headers: HeaderValues;
  body: IncomingBody | undefined;
}

/**
 * Query and body, checked against the schemas of the route. Throws NOT_FOUND for malformed path parameters,
 * VALIDATION_ERROR, PAYLOAD_TOO_LARGE or UNSUPPORTED_MEDIA_TYPE.
 */
export async function readInput(
  { route, params }: RouteMatch,
  context: RawInput,
): Promise<{ query: unknown; body: unknown; rawBody: Buffer }> {
  assertValidParams(params);
  const query = route.query
    ? parseQuery(route.query, context.query, route.takesRubbish)
    : route.ignoresQuery === true || context.query === ''
      ? {}
      : parseQuery(noQuery, context.query);
  return { query, ...(await readBody(route, context)) };
}

/** A path parameter that cannot be an id, or holds NUL, names nothing: NOT_FOUND. */
export function assertValidParams(params: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(params))
    if (value.includes('\0') || ((name === 'id' || name.endsWith('Id')) && !isId(value))) throw notFound();
}

const noQuery = z.strictObject({});
/** Many clients send `{}` with every POST, also to routes without a body, and with any content type. */
const noFields = z.strictObject({});

function parseQuery(schema: z.ZodType, query: string, takesRubbish = false): unknown {
  const values: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (const [name, value] of new URLSearchParams(query)) {
    if (takesRubbish && (name.includes('\0') || value.includes('\0'))) continue;
    if (value.includes('\0'))
      throw validationProblem([{ path: name.replaceAll('\0', ''), message: 'holds a NUL character' }]);
    const previous = values[name];
    if (previous === undefined) values[name] = value;
    else if (Array.isArray(previous)) previous.push(value);
    else values[name] = [previous, value];
  }
  const repeated = takesRubbish
    ? []
    : Object.keys(values).filter((name) => Array.isArray(values[name]) && takesOneValue(schema, name));
  if (repeated.length > 0) throw validationProblem(repeated.map((path) => ({ path, message: 'may be given once' })));
  return validateInput(schema, { ...values });
}

const noBytes = Buffer.alloc(0);

async function readBody(
  route: Route,
  { headers, body: incoming }: RawInput,
): Promise<{ body: unknown; rawBody: Buffer }> {
  const assertJson = () => assertJsonType(headers.get('content-type'), headers.get('content-encoding'));
  if (!incoming) return { body: undefined, rawBody: noBytes };
  const isRaw = route.bodyKind === 'raw';
  const mayBeEmpty = !isRaw && (route.body === undefined || route.isBodyOptional === true);
  if (!mayBeEmpty && !isRaw) assertJson();
  const bytes = await incoming.whole();
  if (isRaw) return { body: undefined, rawBody: bytes };
  if (mayBeEmpty && bytes.length === 0)
    return { body: route.body ? validateInput(route.body, {}) : undefined, rawBody: bytes };
  if (mayBeEmpty && route.body) assertJson();
  const value = parseJson(bytes);
  assertExactNumbers(value, bytes);
  const body = validateInput(route.body ?? noFields, value);
  return { body: route.body && body, rawBody: bytes };
}

/** Checks a value from outside against its schema; throws VALIDATION_ERROR with every issue. */
export function validateInput<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = validate(schema, value);
  if (result.isValid) return result.data;
  throw validationProblem(result.issues);
}
