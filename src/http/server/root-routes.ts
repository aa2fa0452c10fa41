import assert from 'node:assert';
import type { MetricFamilies } from '../../metrics.ts';
import type { Stores } from '../../stores/stores.ts';
import type { DescribedRoute } from '../reference/described-route.ts';
import { healthRoutes } from '../routes/health.ts';
import { metricsRoute } from '../routes/metrics.ts';
import type { Authenticate } from '../routing/principal.ts';
import type { RateLimits } from '../routing/rate-limits.ts';

export interface RootRoutesDeps {
  stores: Stores;
  authenticate: Authenticate;
  limits: RateLimits;
  isDraining(): boolean;
  collectMetrics(): Promise<readonly MetricFamilies[]>;
}

/** What stands beside the interface and tells how the service is. */
export function createRootRoutes({
  stores,
  authenticate,
  limits,
  isDraining,
  collectMetrics,
}: RootRoutesDeps): DescribedRoute[] {
  return [
    ...healthRoutes({
      isDraining,
      fullIntakeProblem: stores.pressure.refusal,
      writeToIntake: () => stores.intakeRedis.set('{health}:probe', '1', 'EX', 60),
      dependencies: {
        responses: async () => assert(await stores.clickhouse.ping()),
        controlPlane: () => stores.sql`SELECT 1`,
        jobs: () => stores.sharedRedis.ping(),
      },
    }),
    metricsRoute({ collectMetrics, authenticate, limits }),
  ];
}
