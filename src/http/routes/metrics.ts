import { isIP } from 'node:net';
import { Problem } from '../../errors.ts';
import { formatMetrics, type MetricFamilies, metricsMediaType } from '../../metrics.ts';
import { authenticateCounted } from '../routing/dispatch.ts';
import type { Authenticate } from '../routing/principal.ts';
import type { RateLimits } from '../routing/rate-limits.ts';
import { type Route, type RouteRequest, route } from '../routing/route.ts';
import type { HeaderName } from '../server/request-head.ts';

export interface MetricsRouteDeps {
  /** The metrics of all processes. */
  collectMetrics(): Promise<readonly MetricFamilies[]>;
  authenticate: Authenticate;
  limits: RateLimits;
}

/** /metrics, at the root. */
export function metricsRoute({ collectMetrics, authenticate, limits }: MetricsRouteDeps): Route {
  return route({
    method: 'GET',
    path: '/metrics',
    operationId: 'getMetrics',
    tag: 'Service',
    summary: 'Read metrics for Prometheus',
    description:
      'Counters summed over all processes; memory, processor time and event-loop delay of each process with its name in the label `process`. Open to callers on the same machine (a loopback address, also as Host, and no header of a proxy), and to an ADMIN’s token or API key from anywhere. Other callers get UNAUTHORIZED without a valid token and FORBIDDEN with one of another role.',
    access: { kind: 'public' },
    limit: 'none',
    ignoresQuery: true,
    reply: null,
    replyMediaType: 'text/plain',
    replyStatus: 200,
    refusals: ['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
    takesBearer: true,
    handle: async (request) => {
      if (!isLocal(request)) await assertAdmin(request, { authenticate, limits });
      return {
        kind: 'text',
        status: 200,
        text: await formatMetrics(await collectMetrics()),
        mediaType: metricsMediaType,
        headers: [['cache-control', 'no-store']],
      };
    },
  });
}

/** Headers that proxies add. */
const proxyHeaders: readonly HeaderName[] = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
];

/**
 * Whether the call comes from this machine; without X-Forwarded-For the address is that of the socket. A browser on
 * this machine may be led here by a name of a stranger (DNS rebinding), so the Host must be of this machine too.
 */
function isLocal({ address, header }: Pick<RouteRequest, 'address' | 'header'>): boolean {
  return (
    isLoopback(address) &&
    isLoopbackHost(header('host') ?? '') &&
    proxyHeaders.every((name) => header(name) === undefined)
  );
}

/** Knows `::1` in every spelling; IPv4 addresses in IPv6 form are unmapped before. */
export function isLoopback(address: string): boolean {
  return isIP(address) === 4 ? address.startsWith('127.') : isIP(address) === 6 && /^[0:]*:0*1$/.test(address);
}

/** Whether a Host header names this machine: `localhost` or a loopback address, with any port. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  return name === 'localhost' || isLoopback(name.replace(/^\[(.*)\]$/, '$1'));
}

async function assertAdmin(
  { address, header }: Pick<RouteRequest, 'address' | 'header'>,
  deps: Pick<MetricsRouteDeps, 'authenticate' | 'limits'>,
): Promise<void> {
  const principal = await authenticateCounted(deps, { authorization: header('authorization'), address });
  if (principal.role !== 'ADMIN') throw new Problem('FORBIDDEN', 'Only an ADMIN may do this');
}
