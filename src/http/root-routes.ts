import assert from 'node:assert';
import type { Figures } from '../metrics.ts';
import type { Stores } from '../stores/stores.ts';
import type { Limits } from './limits.ts';
import type { Authenticate } from './principal.ts';
import type { DescribedRoute } from './reference/described-route.ts';
import { healthRoutes } from './routes/health.ts';
import { metricsRoute } from './routes/metrics.ts';

export interface RootRoutesDeps {
  stores: Stores;
  authenticate: Authenticate;
  limits: Limits;
  isDraining(): boolean;
  figuresOfAll(): Promise<readonly Figures[]>;
}

/** What stands beside the interface and tells how the service is. */
export function createRootRoutes({ stores, authenticate, limits, isDraining, figuresOfAll }: RootRoutesDeps): DescribedRoute[] {
  return [
    ...healthRoutes({
      isDraining, pressure: stores.pressure.refusal,
      writeToIntake: () => stores.intakeRedis.set('{health}:probe', '1', 'EX', 60),
      others: { responses: async () => assert(await stores.clickhouse.ping()), controlPlane: () => stores.sql`SELECT 1`, jobs: () => stores.sharedRedis.ping() },
    }),
    metricsRoute({ figures: figuresOfAll, authenticate, limits }),
  ];
}
