import { Problem } from '../../src/errors.ts';
import { createDispatch } from '../../src/http/routing/dispatch.ts';
import type { Authenticate, Principal } from '../../src/http/routing/principal.ts';
import type { RateLimitStatus, RateLimits } from '../../src/http/routing/rate-limits.ts';
import type { Route } from '../../src/http/routing/route.ts';
import { createRouteTable } from '../../src/http/routing/route-table.ts';
import { createBodyBudget } from '../../src/http/server/body-pieces.ts';
import { createAddressReader } from '../../src/http/server/client-address.ts';
import { createServer, type Server } from '../../src/http/server/server.ts';
import { createLog } from '../../src/log.ts';

export interface LoopbackOptions {
  api?: readonly Route[];
  root?: readonly Route[];
  trustedProxies?: readonly string[];
  corsOrigins?: readonly string[];
  /** Calls a minute that each key may make. */
  limit?: number;
  authenticate?: Authenticate;
  beforeListening?(server: Pick<Server, 'leaveBalancers'>): Promise<void>;
}

/** Tokens that the server knows, by who they stand for. */
export const knownTokens: Readonly<Record<string, Principal['role']>> = {
  admin: 'ADMIN',
  editor: 'EDITOR',
  viewer: 'VIEWER',
};

export function authenticateKnown(authorization: string | undefined): Promise<Principal> {
  const name = /^Bearer (\w+)$/.exec(authorization ?? '')?.[1] ?? '';
  const role = Object.hasOwn(knownTokens, name) ? knownTokens[name] : undefined;
  if (!role) return Promise.reject(new Problem('UNAUTHORIZED'));
  return Promise.resolve({
    userId: name,
    email: `${name}@example.org`,
    role,
    sessionId: name,
    keyId: null,
    requestsPerMinute: null,
    keyCeiling: null,
  });
}

export function countingLimits(limit: number): RateLimits & { counted: Map<string, number> } {
  const counted = new Map<string, number>();
  const consume = async (scope: string, key: string): Promise<RateLimitStatus> => {
    const used = (counted.get(`${scope} ${key}`) ?? 0) + 1;
    counted.set(`${scope} ${key}`, used);
    return {
      limit,
      remaining: Math.max(0, limit - used),
      resetAt: 1_800_000_000,
      isAllowed: used <= limit,
      retryAfterSeconds: 30,
    };
  };
  return { consume, isOverLimit: (key) => (counted.get(`api ${key}`) ?? 0) > limit, counted };
}

/** The real server and dispatcher on a free loopback port, with routes of the test's own and no store behind. */
export async function startLoopback({
  api = [],
  root = [],
  trustedProxies = [],
  corsOrigins = [],
  limit = 1000,
  authenticate = authenticateKnown,
  beforeListening,
}: LoopbackOptions) {
  const requested: [string, number][] = [];
  const refused: string[] = [];
  const limits = countingLimits(limit);
  const log = createLog('silent');
  const dispatch = createDispatch({
    authenticate,
    current: async (known) => known,
    access: { findWithRight: async () => undefined },
    limits,
    log,
    metrics: { refused: (code) => void refused.push(code) },
  });
  const server = createServer({
    api: createRouteTable(api),
    root: createRouteTable(root),
    dispatch,
    addressOf: createAddressReader(trustedProxies),
    bodyBudget: createBodyBudget(),
    corsOrigins,
    isPortShared: false,
    log,
    metrics: { requested: (path, status) => void requested.push([path, status]) },
  });
  await beforeListening?.(server);
  const port = await server.listen('127.0.0.1', 0);
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    requested,
    refused,
    counted: limits.counted,
    windDown: () => server.leaveBalancers({ ms: 1, wait: async () => undefined }),
    leaveBalancers: server.leaveBalancers,
    /** Running requests may go on for so long. */
    stop: (deadlineMs = 200) => server.drain(deadlineMs),
  };
}
