import { createPace } from '../../src/webhooks/pace.ts';
import type { RequestLimits } from '../../src/webhooks/request-limit.ts';

/** The pace of a machine that no respondent needs. */
export const unpaced = () => createPace({ leastPerSecond: 1, isUnderLoad: async () => false });

/** Limits that nothing here reaches. */
export const unlimitedRequests = (): RequestLimits => ({
  host: { connections: 1000, requestsPerSecond: 100_000 },
  pace: unpaced(),
});
