import { newId } from '../ids.ts';
import { createSurveyAccess } from './access.ts';
import { createAddressReader } from './client-address.ts';
import { createDispatch } from './dispatch.ts';
import { assertNativeServer, warnOfTrimmedHeaders } from './engine.ts';
import type { HttpOptions } from './options.ts';
import { createLimits } from './limits.ts';
import { createPeople } from './people.ts';
import { createRootRoutes } from './root-routes.ts';
import { createRouteTable } from './route.ts';
import { createServer } from './server.ts';

export type FiguresDoorOptions = Omit<HttpOptions, 'jobs' | 'isPortShared' | 'drawReport'>;

/** `/health/*` and `/metrics` alone, for a process that serves no interface: what ingest and jobs have done is theirs to tell. */
export async function createFiguresDoor({ settings, stores, core, metrics, secrets, log, figuresOfAll }: FiguresDoorOptions) {
  assertNativeServer();
  await warnOfTrimmedHeaders(log);
  const { authenticate } = await createPeople({ sql: stores.sql, redis: stores.sharedRedis, secrets, log, settings, nowMs: core.now, newId: () => newId() });
  const limits = createLimits({ redis: stores.sharedRedis, auth: settings.rateLimits.auth, api: settings.rateLimits.api, processCount: settings.workers, log });
  const access = createSurveyAccess({ surveys: stores.surveys, lookups: {} });
  let isStopping = false;
  const root = createRouteTable(createRootRoutes({ stores, authenticate, limits, isDraining: () => isStopping, figuresOfAll }));
  const server = createServer({
    api: createRouteTable([]), root, dispatch: createDispatch({ authenticate, access, limits, log, metrics }),
    addressOf: createAddressReader(settings.trustedProxies), corsOrigins: [], isPortShared: false, log, metrics,
  });
  return {
    listen: server.listen,
    async drain(deadlineMs: number): Promise<void> {
      isStopping = true;
      await server.drain(deadlineMs);
    },
  };
}
