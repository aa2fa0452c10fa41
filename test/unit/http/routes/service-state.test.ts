import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { serviceStateRoute } from '../../../../src/http/routes/service-state.ts';
import type { RouteRequest } from '../../../../src/http/routing/route.ts';
import { createMetrics } from '../../../../src/metrics.ts';

describe('the state of the service', () => {
  it('names no lag and no memory of an intake that does not answer', async () => {
    const metrics = createMetrics();
    const route = serviceStateRoute({
      version: '1.2.3',
      checkHealth: async () => ({ checks: {}, degraded: [], reason: undefined }),
      collectMetrics: async () => [await metrics.collect()],
      queues: async () => [],
      deadLetters: async () => 0,
      storeVersions: {},
    });
    const intakeState = async () => {
      const reply: any = await route.handle({} as unknown as RouteRequest<never, never>);
      const { lag, oldestSeconds, memoryRatio } = reply.data.intake;
      return [lag, oldestSeconds, memoryRatio];
    };
    metrics.shardState(0, { length: 5, lag: 5, deadLetters: 0, oldestSeconds: 90, unforwardedSeconds: 0 });
    metrics.intakeMemoryUsed(0.85, { waiting: 1, idempotency: 1, definitions: 1, other: 1 });
    assert.deepEqual(await intakeState(), [5, 90, 0.85]);
    metrics.shardUnknown(0);
    metrics.intakeMemoryUnknown();
    assert.deepEqual(await intakeState(), [null, null, null]);
  });
});
