import assert from 'node:assert/strict';
import { it } from 'node:test';
import { adminClient } from '../support/client.ts';
import { loopBarMs } from '../support/free-loop.ts';
import { slowness } from '../support/machine-speed.ts';
import { createProcessProbe } from '../support/process-probe.ts';
import { startService } from '../support/service.ts';

it('the first OpenAPI document and the metrics of all processes do not hold the event loop', async () => {
  const probe = createProcessProbe();
  const service = await startService({ env: probe.env });
  try {
    const admin = await adminClient(service);
    const { id } = await admin.create('/surveys', { title: 'Any', status: 'ACTIVE' });
    for (let n = 0; n < 50; n += 1) assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    const heldBy = async (path: string): Promise<number> => {
      probe.begin(service.pid);
      const reply = await fetch(`${service.origin}${path}`);
      assert.equal(reply.status, 200);
      assert.ok((await reply.text()).length > 10_000);
      return (await probe.read(service.pid)).maxMs;
    };
    const slownessBefore = slowness();
    const held = {
      openApi: await heldBy('/api/v1/openapi.json'),
      firstMetrics: await heldBy('/metrics'),
      metrics: await heldBy('/metrics'),
    };
    console.log(`event loop held, milliseconds: ${JSON.stringify(held)}`);
    const barMs = loopBarMs * Math.max(slownessBefore, slowness());
    for (const [what, ms] of Object.entries(held)) assert.ok(ms <= barMs, `${what}: ${ms} ms of ${barMs}`);
  } finally {
    assert.equal(await service.stop(), 0);
  }
});
