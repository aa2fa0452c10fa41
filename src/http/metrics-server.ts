import { type ApiServerOptions, createRootRoutes } from './api-routes.ts';
import { createCallerCheck } from './authentication.ts';
import { createDispatch } from './routing/dispatch.ts';
import { createRateLimits } from './routing/rate-limits.ts';
import { createRouteTable } from './routing/route-table.ts';
import { createSurveyAccess } from './routing/survey-access.ts';
import { createBodyBudget } from './server/body-pieces.ts';
import { createAddressReader } from './server/client-address.ts';
import { createServer } from './server/server.ts';
import { assertNativeServer, warnOfTrimmedHeaders } from './server/uwebsockets.ts';

export type MetricsServerOptions = Omit<ApiServerOptions, 'jobs' | 'isPortShared' | 'drawReport'>;

/** A server with /health/* and /metrics alone, for processes without the http role. */
export async function createMetricsServer({
  settings,
  stores,
  core,
  metrics,
  secrets,
  log,
  collectMetrics,
}: MetricsServerOptions) {
  assertNativeServer();
  await warnOfTrimmedHeaders(log);
  const { authenticator } = await createCallerCheck({ sql: stores.sql, log, settings, nowMs: core.now });
  const { authenticate, current } = authenticator;
  const limits = createRateLimits({
    redis: stores.sharedRedis,
    auth: settings.rateLimits.auth,
    api: settings.rateLimits.api,
    processCount: settings.workers,
    keyedHash: secrets.keyedHash,
    log,
  });
  const access = createSurveyAccess({ surveys: stores.surveys });
  let isStopping = false;
  const rootTable = createRouteTable(
    createRootRoutes({ stores, authenticate, limits, isDraining: () => isStopping, collectMetrics }),
  );
  const server = createServer({
    api: createRouteTable([]),
    root: rootTable,
    dispatch: createDispatch({ authenticate, current, access, limits, log, metrics }),
    addressOf: createAddressReader(settings.trustedProxies),
    bodyBudget: createBodyBudget(),
    corsOrigins: [],
    isPortShared: false,
    portSetting: 'METRICS_PORT',
    log,
    metrics,
  });
  return {
    listen: server.listen,
    async drain(deadlineMs: number): Promise<void> {
      isStopping = true;
      await server.drain(deadlineMs);
    },
  };
}
