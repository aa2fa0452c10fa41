import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { type ClickHouse, createClickHouse } from '../../src/stores/clickhouse/client.ts';
import { runningStores } from '../../src/stores/embedded/start-stores.ts';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';

const recoveryMs = 20_000;

describe('a ClickHouse that has lost its tables', () => {
  const dataDir = temporaryDataDir();
  let service: RunningService;
  let admin: Client;
  let clickhouse: ClickHouse;
  let surveyId: string;
  let accepted = 0;
  before(async () => {
    await start();
    surveyId = (await admin.create('/surveys', { title: 'Lost', status: 'ACTIVE' })).id;
    await submitSome();
    await eventually(async () => assert.equal(await total(), accepted), recoveryMs);
  });
  after(async () => {
    await stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function start(): Promise<void> {
    service = await startService({ dataDir });
    admin = await adminClient(service);
    clickhouse = createClickHouse({ urls: [runningStores(dataDir).clickhouse ?? ''], log: createLog('silent') });
  }
  async function stop(): Promise<void> {
    await clickhouse.close();
    await service.stop();
  }
  async function submitSome(): Promise<void> {
    for (let sent = 0; sent < 10; sent += 1) {
      assert.equal((await admin.submit(surveyId, { answers: [] })).status, 201);
      accepted += 1;
    }
  }
  /** What is counted with a filter, which no earlier result can stand in for. */
  async function total(): Promise<number | string> {
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const { status, body } = await admin.call('GET', `/analytics/surveys/${surveyId}?startDate=${from}`);
    return status === 200 ? body.data.totalResponses : `${status} ${body.code}`;
  }
  const degraded = async (): Promise<string[]> => {
    const reply: any = await (await fetch(`${service.origin}/health/ready`)).json();
    return reply.data.degraded;
  };
  const table = (name: string) => clickhouse.table(name);

  it('is named as degraded, readers get 503, and nothing accepted is lost when the table is back', async () => {
    await clickhouse.command(`RENAME TABLE ${table('responses')} TO ${table('taken_away')}`);
    await eventually(async () => assert.deepEqual(await degraded(), ['responses']), recoveryMs);
    assert.equal(await total(), '503 SERVICE_UNAVAILABLE');
    await submitSome();
    await clickhouse.command(`RENAME TABLE ${table('taken_away')} TO ${table('responses')}`);
    await eventually(async () => assert.equal(await total(), accepted), recoveryMs);
    await eventually(async () => assert.deepEqual(await degraded(), []), recoveryMs);
    assert.doesNotMatch(service.logs(), /a handler failed/);
  });

  it('gets them again, empty, at the next start, which says so', async () => {
    await clickhouse.command(`DROP TABLE ${table('responses')} SYNC`);
    await clickhouse.command(`DROP TABLE ${table('idempotency_records')} SYNC`);
    await submitSome();
    await stop();
    await start();
    assert.match(service.logs(), /"tables":\["responses","idempotency_records"\].*ClickHouse has lost tables/);
    // The intake still has what was stored in the last minutes.
    await eventually(async () => assert.equal(await total(), accepted), recoveryMs);
    await eventually(async () => assert.deepEqual(await degraded(), []), recoveryMs);
  });

  it('is named as degraded where the files of its tables are gone', async () => {
    // At once, as a merge may add files to a folder that is being removed.
    const store = join(dataDir, 'clickhouse', 'data', 'store');
    renameSync(store, `${store}.gone`);
    await eventually(async () => assert.deepEqual(await degraded(), ['responses']), recoveryMs);
    assert.equal(await total(), '503 SERVICE_UNAVAILABLE');
  });
});
