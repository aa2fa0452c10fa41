import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { runQuotaChaos } from '../support/quota-chaos.ts';
import { type RunningService, startService } from '../support/service.ts';

/** The long version, 20 runs of 50,000 submissions: npm run chaos:quotas */
describe('quotas by cell under kill -9', () => {
  const dataDir = temporaryDataDir();
  let service: RunningService;
  let admin: Client;
  before(async () => {
    service = await startService({ dataDir, env: { WORKERS: '4' } });
    admin = await adminClient(service);
  });
  after(async () => {
    await service?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('are exactly full where there is enough demand, and no response is lost', async () => {
    const { faults, ...report } = await runQuotaChaos({ service, admin, count: 5000, killEvery: 700 });
    assert.deepEqual(faults, []);
    assert.ok(report.kills >= 5 && report.failedCalls > 0, `the kills were felt: ${JSON.stringify(report)}`);
    assert.ok(report.scarceCells >= 16, JSON.stringify(report));
  });
});
