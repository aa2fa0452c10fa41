import { Problem } from '../../errors.ts';
import type { Method } from '../routing/route.ts';
import type { RouteTable } from '../routing/route-table.ts';
import type { Header } from './reply.ts';

const varyByOrigin: Header = ['vary', 'Origin'];

/**
 * CORS headers of a reply. `isPublic`: the route needs no sign-in, so an origin list of `*` opens it. A reply to a
 * request without an origin says too that it depends on that, since a cache may keep it for other requests.
 */
export function corsHeaders(origins: readonly string[], origin: string | undefined, isPublic: boolean): Header[] {
  if (origins.length === 0) return [];
  if (origin === undefined) return [varyByOrigin];
  const isListed = origins.includes(origin);
  const isOpen = origins.includes('*') && isPublic;
  if (!isListed && !isOpen) return [varyByOrigin];
  return [
    ['access-control-allow-origin', isListed ? origin : '*'],
    varyByOrigin,
    ['access-control-expose-headers', exposedHeaders],
  ];
}

const exposedHeaders =
  'X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Idempotent-Replayed, ETag, Accept-Ranges, Content-Range, Content-Disposition, Allow';

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'DELETE'];

/** Methods of a path; not those of one with a parameter in place of a fixed segment: `/surveys/import` is no survey. */
function allowedMethods(table: Pick<RouteTable, 'match'>, path: string): Method[] {
  const parameters = (method: Method): number => Object.keys(table.match(method, path)?.params ?? {}).length;
  const found = methods.filter((method) => table.match(method, path));
  const least = Math.min(...found.map(parameters));
  return found.filter((method) => parameters(method) === least);
}

const allowHeader = (allowed: readonly Method[]): Header => [
  'allow',
  [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', '),
];

/** METHOD_NOT_ALLOWED with the Allow header for a path that exists; undefined if there is no such path. */
export function methodProblem(table: Pick<RouteTable, 'match'>, path: string): Problem | undefined {
  const allowed = allowedMethods(table, path);
  return allowed.length > 0
    ? new Problem('METHOD_NOT_ALLOWED', undefined, { headers: [allowHeader(allowed)] })
    : undefined;
}

/** Headers of the reply to OPTIONS; undefined if there is no such path. */
export function preflightHeaders(
  cors: readonly Header[],
  table: Pick<RouteTable, 'match'>,
  path: string,
): Header[] | undefined {
  const allowed = allowedMethods(table, path);
  if (allowed.length === 0) return undefined;
  const allow = allowHeader(allowed);
  if (!cors.some(([name]) => name === 'access-control-allow-origin')) return [allow];
  return [
    allow,
    ['access-control-allow-methods', allowed.join(', ')],
    [
      'access-control-allow-headers',
      'Authorization, Content-Type, Idempotency-Key, X-Survey-Token, X-Filename, X-Request-Id, Last-Event-ID, Range, If-Range, If-Match, If-None-Match',
    ],
    ['access-control-max-age', '600'],
  ];
}
