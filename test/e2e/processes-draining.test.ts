import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { adminClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { callOnce } from '../support/one-connection.ts';
import { type RunningService, startService } from '../support/service.ts';
import { assertWithin } from '../support/time-bars.ts';

/** Asks whether the service is ready until it says that it stops, which it must do before it has ended. */
async function isSeenDraining({ origin, exited }: RunningService): Promise<boolean> {
  let hasEnded = false;
  void exited.then(() => {
    hasEnded = true;
  });
  while (!hasEnded)
    if ((await callOnce(origin, 'GET', '/health/ready')).body?.details?.reason === 'DRAINING') return true;
  return false;
}

describe('several HTTP processes at SIGTERM', () => {
  it('reply to running calls, lose nothing and end within ten seconds', async () => {
    const service = await startService({ env: { WORKERS: '2', DRAIN_DELAY_MS: '5000' } });
    const admin = await adminClient(service);
    const { id } = await admin.create('/surveys', { title: 'Drained', status: 'ACTIVE' });
    const accepted = new Set<string>();
    const statuses: Record<number, number> = {};
    let isOver = false;
    const load = Promise.all(
      Array.from({ length: 16 }, async () => {
        while (!isOver) {
          const { status, body } = await callOnce(service.base, 'POST', `/responses/surveys/${id}/submit`, {
            body: { answers: [] },
          });
          statuses[status] = (statuses[status] ?? 0) + 1;
          if (status === 201) accepted.add(body.data.responseId);
        }
      }),
    );
    let before = 0;
    try {
      await eventually(() => assert.ok(accepted.size > 200));
      const toldAt = performance.now();
      before = accepted.size;
      const stopped = service.stop();
      assert.ok(await isSeenDraining(service), 'load balancers see it while calls are still accepted');
      assert.equal(await stopped, 0);
      assertWithin(10_000, performance.now() - toldAt, 'the stop');
    } finally {
      isOver = true;
      await load;
      await service.stop();
    }
    assert.ok(accepted.size > before, 'submissions were taken while readiness failed');
    assert.deepEqual(
      Object.keys(statuses).filter((status) => !['201', '0'].includes(status)),
      [],
      JSON.stringify(statuses),
    );
    const next = await startService();
    try {
      const later = await adminClient(next);
      await eventually(async () =>
        assert.equal((await later.get(`/analytics/surveys/${id}`)).totalResponses, accepted.size),
      );
    } finally {
      await next.stop();
    }
  });

  it('end at once at a second signal', async () => {
    const service = await startService({ env: { WORKERS: '2', DRAIN_DELAY_MS: '10000' } });
    const startedAt = performance.now();
    let code: number | null = null;
    try {
      process.kill(service.pid, 'SIGTERM');
      assert.ok(await isSeenDraining(service));
    } finally {
      code = await service.stop();
    }
    assert.equal(code, 1);
    assertWithin(9500, performance.now() - startedAt, 'the second stop');
  });
});
